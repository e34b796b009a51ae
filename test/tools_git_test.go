//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
)

// TestGitWork: the daily commands, with the identity of the person outside.
func TestGitWork(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.repository()
		steps := []struct{ name, script, want string }{
			{"identity", "git config user.name; git config user.email", "Carla Desk\ncarla@example.com\n"},
			{"status", "git status --porcelain", ""},
			{"commit", "echo two >> file && git commit -qam two && git log --format='%an <%ae> %s' -1", "Carla Desk <carla@example.com> two\n"},
			{"branch", "git switch -qc topic && echo t > t && git add t && git commit -qm topic && git branch --format='%(refname:short)'", "main\ntopic\n"},
			{"rebase", "git switch -q main && echo three >> file && git commit -qam three && git switch -q topic && git rebase -q main && git log --format=%s", "topic\nthree\ntwo\none\n"},
			{"interactive rebase", "GIT_SEQUENCE_EDITOR='sed -i s/^pick/reword/' GIT_EDITOR='sed -i s/topic/better/' git rebase -q -i main >/dev/null && git log --format=%s -1", "better\n"},
			{"merge", "git switch -q main && git merge -q --no-ff -m merged topic && git log --format=%s -1", "merged\n"},
			{"tag", "git tag -am v1 v1 && git describe", "v1\n"},
			{"stash", "echo dirty >> file && git stash -q && git status --porcelain && git stash pop -q && git status --porcelain && git checkout -q file", " M file\n"},
			{"reset", "git commit -q --allow-empty -m oops && git reset -q --hard HEAD^ && git log --format=%s -1", "merged\n"},
			{"gc", "git gc -q && git fsck --no-dangling 2>&1 && git log --oneline | wc -l", "5\n"},
			{"worktree", "git worktree add -q inner && cd inner && git log --format=%s -1 && cd .. && git worktree remove inner && echo removed", "merged\nremoved\n"},
			{"init", "mkdir fresh && cd fresh && git init -q && echo x > x && git add x && git commit -qm x && git log --format=%s && cd .. && rm -rf fresh", "x\n"},
			{"clone", "git clone -q . copy && cd copy && git log --format=%s -1 && cd .. && rm -rf copy", "merged\n"},
			{"diff", "echo four >> file; git diff --stat | tail -1; git checkout -q file", " 1 file changed, 1 insertion(+)\n"},
			{"blame and grep", "git blame -s file | wc -l; git grep -c two", "3\nfile:1\n"},
			{"bisect", "git bisect start -q HEAD HEAD~2 >/dev/null && git bisect run true >/dev/null 2>&1; git bisect reset -q >/dev/null 2>&1; git status --porcelain", ""},
			{"no prompt", "git -c core.askPass= ls-remote https://127.0.0.1:1/x 2>&1 | grep -ci password; true", "0\n"},
		}
		for _, s := range steps {
			r := w.run("--", "bash", "-c", s.script)
			if r.out != s.want || r.code != 0 {
				t.Errorf("%s: want %q: %s", s.name, s.want, r)
			}
		}
		if out := w.outsideSh("git log --format=%s -1; git fsck --no-dangling 2>&1; git status --porcelain"); out != "merged\n" {
			t.Errorf("the repository outside: %q", out)
		}
	})
}

// TestGitPush to a local remote that was granted.
func TestGitPush(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.repository()
	remote := w.outside + "/remote.git"
	w.outsideSh("git init -q --bare " + remote + " && git remote add origin " + remote)
	if r := w.run("--", "git", "push", "-q", "origin", "main"); r.code == 0 {
		t.Errorf("pushed without a grant: %s", r)
	}
	w.sh("git push -q origin main && git fetch -q && git ls-remote origin | cut -f2", "--write", remote)
	if out := w.outsideSh("git -C " + remote + " log --format=%s"); out != "one\n" {
		t.Errorf("at the remote: %q", out)
	}
	w.sh("git pull -q origin main", "--read", remote)
}

// TestGitInWorktree: the project is a worktree of a repository beside it.
func TestGitInWorktree(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.repository()
	w.outsideSh("git worktree add -q " + w.home + "/src/tree")
	w.project = w.home + "/src/tree"
	w.litter = true // objects go to the main repository, which is in home
	out := w.sh("echo t > t && git add t && git commit -qm tree && git log --format=%s && git switch -qc other && git stash list && git gc -q --auto && git status --porcelain")
	if out != "tree\none\n" {
		t.Errorf("%q", out)
	}
}

func TestGitSubmodules(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.repository()
	lib := w.outside + "/lib"
	w.outsideSh("git init -q " + lib + " && cd " + lib + " && echo x > x && git add x && git commit -qm lib && cd " + w.project + " && git -c protocol.file.allow=always submodule --quiet add " + lib + " deps/lib && git commit -qm sub")
	out := w.sh("git submodule status | cut -d' ' -f3; git -c protocol.file.allow=always submodule --quiet update; cat deps/lib/x; cd deps/lib && git switch -qc work && echo y > x && git commit -qam inner && cd ../.. && git commit -qam moved && git -C deps/lib log --format=%s && git log --format=%s", "--read", lib)
	if out != "deps/lib\nx\ninner\nlib\nmoved\nsub\none\n" {
		t.Errorf("%q", out)
	}
}

// TestGitConfigIsFiltered: what runs programs or holds secrets stays outside,
// what describes the person comes in.
func TestGitConfigIsFiltered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("git")
	w.write(w.home+"/work.inc", "[user]\n\temail = work@example.com\n")
	w.write(w.home+"/.config/git/ignore", "*.ignored\n")
	w.write(w.home+"/.gitconfig", `[user]
	name = Carla "C" Désk
	email = carla@example.com
	signingkey = ABC
[core]
	hooksPath = /tmp/hooks
	fsmonitor = /tmp/monitor
	sshCommand = /tmp/ssh
	pager = /tmp/pager
	editor = vim
	autocrlf = input
[alias]
	co = checkout
	evil = "!echo ran"
[credential]
	helper = store
[url "https://user:SECRET@example.com/"]
	insteadOf = https://example.com/
[http "https://example.com"]
	extraHeader = Authorization: SECRET
[includeIf "gitdir:~/src/"]
	path = ~/work.inc
[diff "x"]
	textconv = /tmp/conv
[filter "lfs"]
	clean = git-lfs clean -- %f
	process = git-lfs filter-process
[init]
	defaultBranch = trunk
[pull]
	rebase = true
[commit]
	gpgsign = true
`)
	w.outsideSh("git init -q")
	out := w.sh("git config --global --list; git config user.name; git config user.email; git config init.defaultBranch; git config pull.rebase; git config core.autocrlf; git commit -q --allow-empty -m x && echo committed; touch a.ignored && git status --porcelain")
	for _, bad := range []string{"SECRET", "/tmp/hooks", "/tmp/monitor", "/tmp/ssh", "/tmp/pager", "/tmp/conv", "store", "!echo"} {
		if strings.Contains(out, bad) {
			t.Errorf("%q is in the configuration inside:\n%s", bad, out)
		}
	}
	if !strings.HasSuffix(out, "Carla C Désk\nwork@example.com\ntrunk\ntrue\ninput\ncommitted\n") {
		t.Errorf("what should have come in:\n%s", out)
	}
	if canary := w.outsideSh("git config --list"); !strings.Contains(canary, "SECRET") {
		t.Error("canary: git outside shows no secret")
	}
}

// TestSSHConfig: the filtered configuration answers, keys are not there.
func TestSSHConfig(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("ssh")
		w.write(w.home+"/.ssh/config", "Host desk\n\tHostName desk.example.com\n\tPort 2222\n\tUser carla\n\tIdentityFile ~/.ssh/id_desk\n\tProxyCommand /tmp/proxy %h\n\tLocalCommand touch /tmp/x\n\tPermitLocalCommand yes\n")
		w.write(w.home+"/.ssh/known_hosts", "desk.example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJmQ6XbBZcFZz0Y5o0FhYq1w2vQd6rYk2m5c0vV5b0xk\n")
		w.write(w.home+"/.ssh/id_desk", "SECRET")
		if p.uid == 0 {
			// ssh takes root's home from the user database, not from HOME.
			if out := w.sh("ssh -G desk >/dev/null && echo fine"); out != "fine\n" {
				t.Errorf("ssh -G: %q", out)
			}
			return
		}
		out := w.sh("ssh -G desk | grep -E '^(hostname|port|user|proxycommand|localcommand) '; cat ~/.ssh/known_hosts | cut -d' ' -f1; ls ~/.ssh; ssh -o BatchMode=yes -o ConnectTimeout=1 desk 2>&1 | head -1")
		for _, want := range []string{"hostname desk.example.com\n", "port 2222\n", "user carla\n", "desk.example.com\n"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is missing in %q", want, out)
			}
		}
		for _, bad := range []string{"/tmp/proxy", "touch", "id_desk\n", "no user exists", "Bad owner"} {
			if strings.Contains(out, bad) {
				t.Errorf("%q in %q", bad, out)
			}
		}
	})
}

// TestUserDatabase: everybody has a name, also whom no database knows.
func TestUserDatabase(t *testing.T) {
	named, home := namedPerson(t)
	for _, tt := range []struct {
		p          person
		name, home string
	}{{ordinary(t), "", ""}, {person{"root", 0, 0}, "root", ""}, {named, named.name, home}} {
		if tt.p.uid == 0 && os.Getuid() != 0 {
			continue
		}
		w := newWorld(t, tt.p)
		out := w.sh("getent passwd $(id -u) >/dev/null && whoami && id -un && id -gn && getent group $(id -g) >/dev/null && python3 -c 'import os,pwd; print(pwd.getpwuid(os.getuid()).pw_dir); print(os.path.expanduser(\"~\"))' && echo ~ && stat -c %U . && (getent passwd | wc -l)")
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if len(lines) != 8 {
			t.Errorf("%s: %q", tt.p.name, out)
			continue
		}
		if tt.name != "" && lines[0] != tt.name || lines[0] != lines[1] || lines[6] != lines[0] {
			t.Errorf("%s: names %q", tt.p.name, lines)
		}
		if lines[3] != w.home || lines[4] != w.home || lines[5] != w.home {
			t.Errorf("%s: homes %q, want %q", tt.p.name, lines[3:6], w.home)
		}
		if lines[7] > "3" {
			t.Errorf("%s: the database inside has %s people", tt.p.name, lines[7])
		}
	}
}
