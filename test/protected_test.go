//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
	"time"
)

// repository makes the project a git repository with one commit, with an
// identity of its own.
func (w *world) repository() {
	w.t.Helper()
	w.need("git")
	w.write(w.home+"/.gitconfig", "[user]\n\tname = Carla Desk\n\temail = carla@example.com\n[init]\n\tdefaultBranch = main\n")
	w.outsideSh("git init -q && echo one > file && git add file && git commit -qm one")
}

// snapshot gives what of a tree could make git or an editor run code.
func (w *world) snapshot() string {
	w.t.Helper()
	return w.outsideSh(`cd "` + w.project + `"; find . -path ./.git/objects -prune -o \( -path './.git/hooks/*' -o -path '*/config' -o -name 'config.worktree' -o -path './.git/info/attributes' -o -path './.vscode/*' -o -path './.claude/*' -o -name .envrc -o -name .carrel.yaml -o -path './.husky/*' \) -type f -printf '%p %m ' -exec md5sum {} \; | sort; stat -c '%i' .git .git/hooks`)
}

// TestProtectedNames: what makes git, editors, shells and agents run code
// later keeps its content, its name and its place.
func TestProtectedNames(t *testing.T) {
	attempts := []struct{ name, script string }{
		{"write config", "echo '[alias] x = !id' >> .git/config"},
		{"git config", "git config core.hooksPath /tmp/evil"},
		{"git config alias", "git config alias.st '!touch owned'"},
		{"new hook", "echo '#!/bin/sh' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit"},
		{"change sample hook", "for h in .git/hooks/*; do echo id >> $h; done"},
		{"rename a hook", "mv .git/hooks/pre-commit.sample .git/hooks/pre-commit"},
		{"move hooks away", "mv .git/hooks .git/h; mkdir .git/hooks; echo id > .git/hooks/pre-commit"},
		{"move .git away", "mv .git old; mkdir -p .git/hooks; cp -a old/. .git/; echo id > .git/hooks/pre-commit"},
		{"remove .git", "rm -rf .git/hooks .git/config; mkdir -p .git/hooks; echo id > .git/hooks/pre-commit"},
		{"exchange .git", "mkdir -p new/hooks; echo id > new/hooks/pre-commit; mv -T --exchange new .git"},
		{"replace the config", "cp .git/config c; echo '[alias] x = !id' >> c; mv -f c .git/config"},
		{"hard link", "ln .git/config c; echo '[alias] x = !id' >> c; ln .git/hooks/pre-commit.sample h; echo id >> h"},
		{"config.lock", "cp .git/config .git/config.lock; echo '[alias] x = !id' >> .git/config.lock; mv .git/config.lock .git/config; rm -f .git/config.lock"},
		{"attributes", "mkdir -p .git/info; echo '* filter=x' >> .git/info/attributes"},
		{"editor tasks", "echo '{}' > .vscode/tasks.json; mv .vscode v; mkdir .vscode; echo '{}' > .vscode/tasks.json; echo x > .vscode/settings.json"},
		{"agent settings", "echo '{}' > .claude/settings.json; mv .claude/settings.json x; mv .claude c; mkdir .claude; echo '{}' > .claude/settings.json"},
		{"direnv", "echo 'touch owned' >> .envrc; mv .envrc e; echo x > .envrc"},
		{"own policy", "echo 'network: open' > .carrel.yaml; mv .carrel.yaml c; rm -f .carrel.yaml; echo 'network: open' > .carrel.yaml"},
		{"hook directories", "echo id > .husky/pre-commit; mv .husky h; mkdir .husky; echo id > .husky/pre-commit"},
		{"chmod", "chmod 777 .git/hooks/* .git/config .envrc .vscode/tasks.json"},
		{"nested namespaces", "unshare -Urm sh -c 'mount --bind / /mnt; echo id > /mnt$PWD/.git/hooks/pre-commit; umount -l .git/hooks; echo id > .git/hooks/pre-commit'"},
	}
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.repository()
		w.script(w.project+"/.git/hooks/pre-commit.sample", "#!/bin/sh\n")
		w.write(w.project+"/.git/info/attributes", "*.x text\n")
		w.write(w.project+"/.vscode/tasks.json", `{"version":"2.0.0"}`)
		w.write(w.project+"/.claude/settings.json", `{}`+"\n")
		w.write(w.project+"/.envrc", "export A=b\n")
		w.write(w.project+"/.carrel.yaml", "network: closed\n")
		w.script(w.project+"/.husky/pre-commit", "true\n")
		before := w.snapshot()
		for _, nested := range []string{"userns", "full"} {
			for _, a := range attempts {
				r := w.run("--nested", nested, "--", "bash", "-c", a.script)
				if after := w.snapshot(); after != before {
					t.Fatalf("nested %s, %s: changed\n%s\nbefore:\n%s\nafter:\n%s", nested, a.name, r, before, after)
				}
			}
		}
		// The canary: the same outside changes things.
		for _, a := range attempts[:6] {
			r := w.plain("bash", "-c", a.script)
			after := w.snapshot()
			if after == before {
				t.Errorf("canary: %s changes nothing outside: %s", a.name, r)
			}
			before = after
		}
	})
}

// TestProtectedNamesInWorktrees: a worktree's hooks and config are in the main
// repository's directory, outside the project.
func TestProtectedNamesInWorktrees(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.repository()
	main := w.project
	w.outsideSh("git worktree add -q " + w.home + "/src/tree")
	before := w.snapshot()
	w.project = w.home + "/src/tree"
	dot := w.read(w.project + "/.git")
	for _, script := range []string{
		"echo id > MAIN/.git/hooks/pre-commit", "echo '[alias] x = !id' >> MAIN/.git/config", "mv MAIN/.git/hooks MAIN/.git/h", "git config core.pager id",
		"rm -f .git; mkdir .git; echo x > .git/config", "echo 'gitdir: /tmp/evil' > .git", "mv .git g; echo 'gitdir: /tmp/evil' > .git", "echo ../evil > MAIN/.git/worktrees/tree/commondir", "echo x > MAIN/new",
	} {
		w.run("--", "bash", "-c", strings.ReplaceAll(script, "MAIN", main))
	}
	if got := w.read(w.project + "/.git"); got != dot {
		t.Errorf(".git of the worktree is now %q", got)
	}
	w.litter = true // the commit's objects are in the main repository
	w.sh("echo two > file && git commit -qam two")
	w.project = main
	if after := w.snapshot(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if _, err := os.Lstat(main + "/new"); err == nil {
		t.Error("the main working tree is writable from the worktree's workspace")
	}
	if got := w.outsideSh("git log --oneline tree | wc -l"); got != "2\n" {
		t.Errorf("commits in the worktree: %s", got)
	}
}

// TestSubmoduleHooks: .git/modules holds repositories too.
func TestSubmoduleHooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.repository()
	w.outsideSh("git init -q ../lib && cd ../lib && echo x > x && git add x && git commit -qm x && cd - && git -c protocol.file.allow=always submodule --quiet add ../lib deps/lib && git commit -qm sub")
	hook := w.project + "/.git/modules/deps/lib/hooks/pre-commit"
	config := w.read(w.project + "/.git/modules/deps/lib/config")
	w.run("--", "bash", "-c", "echo id > "+hook+"; echo '[alias] x = !id' >> .git/modules/deps/lib/config; mv .git/modules/deps/lib/hooks .git/modules/deps/lib/h; mkdir .git/modules/deps/lib/hooks; echo id > "+hook)
	if _, err := os.Lstat(hook); err == nil {
		t.Error("a hook was planted in a submodule")
	}
	if w.read(w.project+"/.git/modules/deps/lib/config") != config {
		t.Error("a submodule's config was changed")
	}
	w.sh("cd deps/lib && echo y > x && git commit -qam y && git log --oneline | wc -l")
}

// TestBornInsideIsNamed: what could run code later and is new is listed at the end.
func TestBornInsideIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	tm := w.inTerminal(w.command(w.bin, "run", "--history", "off", "--", "bash", "-c", "mkdir -p .vscode; echo '{}' > .vscode/tasks.json; echo x > ordinary.txt; printf 'a\\033[2Jb' > 'x\x1b[45m.pth'"))
	for _, want := range []string{".vscode/tasks.json", "3 files changed"} {
		if !strings.Contains(tm.all(), want) {
			t.Errorf("the summary lacks %q: %q", want, tm.all())
		}
	}
	if strings.Contains(tm.all(), "\x1b[45m") {
		t.Errorf("a file name reached the terminal unescaped: %q", tm.all())
	}
	time.Sleep(50 * time.Millisecond) // change times are coarse
	r := w.run("--json", "--", "sh", "-c", "echo y > ordinary.txt")
	if !strings.Contains(r.err, `"changed_files":1`) {
		t.Errorf("--json: %s", r)
	}
}

// TestHomeThatIsGranted: whoever grants all of home grants neither its secrets nor
// what the host runs later, whether they are there or only could be made.
func TestHomeThatIsGranted(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.mkdir(w.home+"/.config/carrel", 0o700)
		w.mkdir(w.home+"/.local/state/carrel", 0o700)
		w.write(w.home+"/.netrc", "SECRET")
		w.write(w.home+"/.vimrc", "set nu\n")
		make := `cd; cat .netrc; mkdir .ssh && echo EVIL > .ssh/authorized_keys
			for f in .gitconfig .profile .bashrc .vimrc .netrc .inputrc; do echo EVIL > $f; done
			for d in .config/systemd .config/autostart .local/bin bin .config/nvim; do mkdir -p $d && echo EVIL > $d/x; done
			mkdir d && mkdir d/.ssh && mv d/.ssh .ssh; ln -s d .ssh; echo fine > d/file; cat .vimrc; echo end`
		r := w.plain(w.bin, "run", "--write", w.home, "--", "sh", "-c", make)
		if !strings.Contains(r.out, "set nu\nend") || strings.Contains(r.out, "SECRET") || !strings.Contains(r.err, "secret: SSH keys") {
			t.Errorf("%s", r)
		}
		if got := w.outsideSh("cd; ls -d .ssh .profile .bashrc .gitconfig .inputrc .config/systemd .config/autostart .config/nvim .local/bin bin 2>/dev/null; cat .netrc .vimrc d/file; rm -r d"); got != "SECRETset nu\nfine\n" {
			t.Errorf("home is now %q", got)
		}
		w.outsideSh("mkdir ~/.ssh")
		if r := w.plain(w.bin, "run", "--write", w.home, "--write", w.home+"/.ssh", "--", "sh", "-c", "echo mine > ~/.ssh/config"); r.code != 0 || w.read(w.home+"/.ssh/config") != "mine\n" {
			t.Errorf("named: %s", r)
		}
	})
}

// TestJujutsuIsHeld: the configuration of a repository of Jujutsu stays, and what is no
// configuration in it can be written.
func TestJujutsuIsHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	config := w.write(w.project+"/.jj/repo/config.toml", "x = 1\n")
	r := w.run(append(historyOn, "--", "bash", "-c", "mkdir -p .jj/repo/store q/repo; echo x > .jj/repo/store/x; cat .jj/repo/store/x; echo y > q/repo/config.toml; echo y >> .jj/repo/config.toml; mv .jj j; mv -T q .jj; mv -T q/repo .jj/repo")...)
	if got := w.read(config); got != "x = 1\n" || r.out != "x\n" {
		t.Errorf("%q: %s", got, r)
	}
}
