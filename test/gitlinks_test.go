//go:build linux

package e2e

import (
	"os"
	"testing"
)

// gitLinks are links that git outside would write through, to $V: each is left inside and
// then followed by a git command of the person's.
var gitLinks = []struct{ name, leave, act string }{
	{"COMMIT_EDITMSG", `ln -sf $V .git/COMMIT_EDITMSG`, `git commit -q --allow-empty -m message`},
	{"MERGE_MSG", `ln -sf $V .git/MERGE_MSG`, `git merge --no-commit --no-ff side`},
	{"SQUASH_MSG", `ln -sf $V .git/SQUASH_MSG`, `git merge --squash side`},
	{"FETCH_HEAD", `ln -sf $V .git/FETCH_HEAD`, `git fetch -q . side`},
	{"the log of HEAD", `rm -f .git/logs/HEAD; ln -s $V .git/logs/HEAD`, `git commit -q --allow-empty -m message`},
	{"the log of a branch", `rm -f .git/logs/refs/heads/main; ln -s $V .git/logs/refs/heads/main`, `git commit -q --allow-empty -m message`},
	{"all logs", `mkdir d; ln -s $V d/HEAD; mv .git/logs .git/l; ln -s ../d .git/logs`, `git commit -q --allow-empty -m message`},
	{"a directory with a link", `mkdir d; ln -s $V d/HEAD; rm -rf .git/logs; mv d .git/logs`, `git commit -q --allow-empty -m message`},
	{"a directory deeper", `mkdir -p d/refs/heads; ln -s $V d/refs/heads/main; rm -rf .git/logs; mv d .git/logs`, `git commit -q --allow-empty -m message`},
	{"a directory exchanged", `mkdir d; ln -s $V d/HEAD; ` + python("L.renameat2(-100, b'd', -100, b'.git/logs', 2)"), `git commit -q --allow-empty -m message`},
	{"a link moved in", `ln -s $V l; rm -f .git/logs/HEAD; mv l .git/logs/HEAD`, `git commit -q --allow-empty -m message`},
	{"a link exchanged", `ln -s $V l; ` + python("L.renameat2(-100, b'l', -100, b'.git/logs/HEAD', 2)"), `git commit -q --allow-empty -m message`},
	{"a link linked", `ln -s $V l; rm -f .git/logs/HEAD; ln -P l .git/logs/HEAD`, `git commit -q --allow-empty -m message`},
	{"of a born repository", `git init -q -b main sub; mkdir -p sub/.git/logs; ln -s $V sub/.git/logs/HEAD`, `cd sub; git -c user.name=a -c user.email=a commit -q --allow-empty -m message`},
	{"of a bare one", `git clone -q --bare . x.git; mkdir -p x.git/logs/refs/heads; git -C x.git config core.logAllRefUpdates true; ln -s $V x.git/logs/refs/heads/side`, `git push -qf x.git HEAD:side`},
	{"of a bare one, before it is one", `mkdir -p b/logs/refs/heads sub; ln -s $V b/logs/refs/heads/main; ln -s $V b/logs/HEAD; mkdir -p b/objects b/refs; printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tlogallrefupdates = true\n' > b/config; echo 'ref: refs/heads/main' > b/HEAD; echo 'gitdir: ../b' > sub/.git`, `cd sub; git -c user.name=a -c user.email=a commit -q --allow-empty -m message`},
	{"of one without configuration", `git init -q --bare Y; mkdir X sub; cp -r Y/HEAD Y/refs Y/objects X/; ln -s $V X/COMMIT_EDITMSG; echo 'gitdir: ../X' > sub/.git`, `cd sub; git -c user.name=a -c user.email=a commit -q --allow-empty -m message`},
	{"of one without, links first", `git init -q --bare Y; mkdir X sub; ln -s $V X/COMMIT_EDITMSG; cp -r Y/HEAD Y/refs Y/objects X/; echo 'gitdir: ../X' > sub/.git`, `cd sub; git -c user.name=a -c user.email=a commit -q --allow-empty -m message`},
	{"of a submodule's part", `mkdir -p .git/modules/m/logs; ln -s $V .git/modules/m/logs/HEAD; cp -r .git/HEAD .git/config .git/objects .git/refs .git/modules/m; mkdir m; echo 'gitdir: ../.git/modules/m' > m/.git`, `git --git-dir .git/modules/m --work-tree . commit -q --allow-empty -m message`},
}

// TestLinksInGitDirectories: the git that a person uses outside writes nothing to where a
// run has put a link. Each is tried without walls first.
func TestLinksInGitDirectories(t *testing.T) {
	t.Parallel()
	for _, c := range gitLinks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			written := func(dir string, inside bool) bool {
				v := w.outside + "/profile"
				w.outsideSh("mkdir -p " + dir + " && cd " + dir + " && git init -q -b main . && git config user.email a@b && git config user.name a && git commit -q --allow-empty -m one && git branch side && git switch -q side && echo x > f && git add f && git commit -qm side && git switch -q main; : > " + v)
				script := "V=" + v + "\n" + c.leave + "\n"
				if inside {
					t.Log(w.run(append(historyOn, "--", "bash", "-c", script)...))
				} else {
					w.outsideSh("cd " + dir + "\n" + script)
				}
				w.outsideSh("cd " + dir + "; " + c.act + "; true")
				text, err := os.ReadFile(v)
				w.must(err)
				return len(text) > 0
			}
			if !written(w.outside+"/free", false) {
				t.Fatal("without walls git writes nothing there: the link does no harm")
			}
			if written(w.project, true) {
				t.Error("git outside wrote to where the run has put a link")
			}
		})
	}
}
