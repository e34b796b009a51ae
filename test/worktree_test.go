//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// linked gives a world whose project is a linked worktree of w.outside/main, on the
// branch "mine", with another worktree on "other" beside it.
func linked(t *testing.T) *world {
	w := newWorld(t, ordinary(t))
	w.outsideSh("rm -rf " + w.project + "; cd " + w.outside + " && git init -q -b main main && cd main && git config user.email a@b && git config user.name a && echo one > file && git add file && git commit -qm one && " +
		"git branch release && git branch packed && git tag v1 && git pack-refs --all && git branch loose && git worktree add -q -b mine " + w.project + " && git worktree add -q -b other ../other && echo stashed >> file && git stash -q && git config core.logAllRefUpdates true")
	return w
}

// TestLinkedWorktreeKeepsOthers: a run in a linked worktree leaves alone what the main
// checkout and other worktrees stand on.
func TestLinkedWorktreeKeepsOthers(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		"git update-ref refs/heads/main HEAD~0^{tree}; git branch -f release HEAD; git branch -f packed HEAD; git branch -f loose HEAD", "git update-ref -d refs/heads/release", "git branch -D packed loose", "git -C $M commit -qam x", "git symbolic-ref HEAD refs/heads/main; git commit -q --allow-empty -m x",
		"git tag -f v1", "git tag -d v1", "git stash clear", "git stash drop", "echo x >> file; git stash", "git pack-refs --all", "rm $G/packed-refs", "H=$(git commit-tree -m x HEAD^{tree}); sed \"s,^[0-9a-f]* refs/heads/release,$H refs/heads/release,\" $G/packed-refs > p; cat p; mv p $G/packed-refs", "grep -v release $G/packed-refs > p; mv p $G/packed-refs",
		"H=$(git commit-tree -m x HEAD^{tree}); echo $H > $G/refs/heads/release; (cat $G/packed-refs; echo $H refs/heads/zz; echo $H refs/heads/other) | sort -k2 > p; mv p $G/packed-refs", ": > p; mv p $G/packed-refs", "echo >> $G/packed-refs",
		"for f in HEAD index refs/heads/loose refs/stash logs/HEAD; do ln $G/$f $G/objects/l$RANDOM; ln $G/$f $G/refs/heads/x$RANDOM; done; for f in $G/objects/l* $G/refs/heads/x*; do test $(stat -c %h $f) = 1 || echo junk > $f; done",
		"mv $G/refs/heads $G/refs/remotes/h; mv $G/refs/tags $G/refs/remotes; mv $G/logs/refs/heads $G/refs/heads/h", "echo 'ref: refs/stash' > $(git rev-parse --git-dir)/HEAD; rm $G/refs/stash", "(cat $G/packed-refs; echo '#x') > p; mv p $G/packed-refs", "(cat $G/packed-refs; echo zz refs/remotes/o/x) > p; mv p $G/packed-refs",
		"(cat $G/packed-refs; echo $(git rev-parse HEAD) refs/tags/v0; echo ^garbage) > p; mv p $G/packed-refs", "printf '%s refs/tags/zz' $(git rev-parse HEAD) > p; cat $G/packed-refs p > q; mv q $G/packed-refs", "mkdir $G/refs/heads/main.lock $G/refs/tags/v1.lock $G/refs/stash.lock $G/index.lock",
		"mkdir -p $G/refs/heads/packed && git rev-parse HEAD > $G/refs/heads/packed/x", "echo x > $G/info/grafts; echo x > $G/info/sparse-checkout", "mkdir $G/objects/n; echo /tmp > $G/objects/n/alternates; mv $G/objects/info $G/objects/i2; mv $G/objects/n $G/objects/info",
		"git branch -m release mine2; git branch -c mine loose", "echo x > $G/HEAD", "rm $G/index", "echo x > $G/index", "mv $G/index $G/x", "cp $G/index i; echo x > i; mv i $G/index",
		"echo x > $G/ORIG_HEAD", "rm $G/logs/HEAD", "echo x >> $G/logs/refs/heads/main", "rm -rf $G/logs/refs/heads", "echo x > $G/worktrees/other/HEAD", "rm -rf $G/worktrees/other", "git worktree remove --force $O", "git worktree prune --expire now -v",
		"git -C $O checkout -q -B x", "echo x > $G/refs/heads/loose", "echo x > $G/refs/heads/main", "touch $G/refs/heads/main.lock $G/index.lock $G/HEAD.lock", "echo /tmp > $G/objects/info/alternates", "ln $G/HEAD h; echo x > h", "mv $G/refs $G/r", "mv $G/worktrees $G/w; mkdir $G/worktrees", "ln -sf x $G/HEAD",
		"rm -f $(find $G/objects -type f | head -1)",
		"F=$(find $G/objects -type f | head -1); chmod u+w $F; echo x > $F",
		"F=$(find $G/objects -type f | head -1); echo x > x; mv -f x $F",
		"git config -f $G/config user.email x; git -C $M reset -q --hard HEAD~0; git -C $M checkout -q release",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			w := linked(t)
			look := "cd " + w.outside + "/main && git status --porcelain=2 --branch && git -C ../other status --porcelain=2 --branch && git for-each-ref | grep -v refs/heads/mine && git stash list && git worktree list --porcelain | grep ^worktree && cat HEAD logs/HEAD .git/HEAD .git/logs/HEAD .git/logs/refs/heads/[a-lo-z]* .git/worktrees/other/* 2>/dev/null | sha256sum; find .git -name '*.lock' -o -path '*/info/alternates'"
			before := w.outsideSh(look)
			r := w.run(append(historyOn, "--", "bash", "-c", "M="+w.outside+"/main; O="+w.outside+"/other; G=$M/.git; "+script)...)
			if after := w.outsideSh(look); after != before {
				t.Errorf("%s\nbefore %s\nafter %s", r, before, after)
			}
		})
	}
}

// TestLinkedWorktreeWorks: everyday work in one.
func TestLinkedWorktreeWorks(t *testing.T) {
	t.Parallel()
	for range 2 { // and in the next run
		w := linked(t)
		w.outsideSh("cd " + w.outside + " && git init -q -b main --bare up.git && git -C main remote add origin $PWD/up.git && git -C main push -q origin main && git clone -q up.git else && cd else && git -c user.email=a -c user.name=a commit -q --allow-empty -m theirs && git tag new && git push -q origin main new")
		for _, c := range []struct{ script, want string }{
			{"echo two >> file && git commit -qam two && git log --format=%s", "two\none\n"},
			{"echo three >> file && git commit -qam three && git commit -q --amend -m 3 && git reset -q --soft HEAD^ && git reset -q --hard HEAD && git log -1 --format=%s", "two\n"},
			{"git checkout -q -b topic && echo t > t && git add t && git commit -qm topic && git checkout -q mine && git merge -q topic && git branch -qd topic && git log -1 --format=%s", "topic\n"},
			{"git tag mark && git tag -f mark HEAD^ >/dev/null && git tag -d mark > /dev/null && git for-each-ref refs/tags --format='%(refname)'", "refs/tags/v1\n"},
			{"git fetch -q && git log -1 --format=%s origin/main && git log -1 --format=%s new && git rebase -q origin/main && git log --format=%s", "theirs\ntheirs\ntopic\ntwo\ntheirs\none\n"},
			{"git worktree add -q --detach inner && git -C inner log -1 --format=%s && git worktree remove inner && git worktree add -q -b side inner && git worktree remove inner && git branch -qD side && git worktree list | wc -l", "topic\n3\n"},
			{"git -c protocol.file.allow=always submodule --quiet add $UP sm && cat sm/file && git commit -qm sub && git -C sm config core.worktree > /dev/null && echo added", "one\nadded\n"},
			{"git bisect start -q HEAD HEAD~2 > /dev/null && git bisect reset -q && git cherry-pick --allow-empty -x origin/main > /dev/null 2>&1; git cherry-pick --abort 2>/dev/null; git status --porcelain; git gc --auto -q && echo done", "done\n"},
		} {
			if out := w.sh("UP="+w.outside+"/up.git; "+c.script, append(historyOn, "--read", w.outside+"/up.git")...); out != c.want {
				t.Errorf("%s: %q, want %q", c.script, out, c.want)
			}
		}
		if out := w.outsideSh("git fsck 2>&1; git -C " + w.outside + "/main status --porcelain; find $(git rev-parse --git-common-dir) -name '*.lock'"); strings.TrimSpace(out) != "" {
			t.Errorf("afterwards: %s", out)
		}
	}
}

// TestLinkedWorktreeTodo: a rebase that a run leaves with a command in it is named.
func TestLinkedWorktreeTodo(t *testing.T) {
	t.Parallel()
	w := linked(t)
	listed, _, r := w.listedAfter(`D=$(git rev-parse --git-dir); mkdir $D/rebase-merge; echo "exec touch x" > $D/rebase-merge/git-rebase-todo`)
	if !strings.Contains(strings.Join(listed, " "), "git-rebase-todo") {
		t.Errorf("named %q: %s", listed, r)
	}
}
