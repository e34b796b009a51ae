package gitconf

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// diskFiles are the real ones.
type diskFiles struct{}

func (diskFiles) Read(at string, limit int) ([]byte, error) { return os.ReadFile(at) }
func (diskFiles) Missing(err error) bool                    { return os.IsNotExist(err) }

func (diskFiles) Link(at string) (string, bool) {
	text, err := os.Readlink(at)
	return text, err == nil
}

func (diskFiles) Dir(at string) bool {
	st, err := os.Lstat(at)
	return err == nil && st.IsDir()
}

func (diskFiles) Regular(at string) bool {
	st, err := os.Lstat(at)
	return err == nil && st.Mode().IsRegular()
}

// acting are keys with a value that names tools/x, and what makes git 2.39 run it.
var acting = []struct{ key, value, command string }{
	{"core.fsmonitor", "tools/x", "git status"},
	{"core.fsmonitor", "sh tools/x", "git diff"},
	{"alias.go", "!tools/x", "git go"},
	{"alias.go", "-c core.fsmonitor=tools/x status", "git go"},
	{"core.sshCommand", "tools/x", "git fetch ssh://localhost/x"},
	{"core.gitProxy", "tools/x", "git fetch git://localhost/x"},
	{"core.pager", "tools/x", "script -qec 'git log' /dev/null"},
	{"pager.log", "sh tools/x", "script -qec 'git log' /dev/null"},
	{"core.editor", "tools/x", "git commit --allow-empty"},
	{"sequence.editor", "tools/x", "git rebase -i HEAD~1"},
	{"core.askPass", "tools/x", "git credential fill < ../ask"},
	{"credential.helper", "!tools/x", "git credential fill < ../ask"},
	{"credential.https://localhost.helper", "!tools/x", "git credential fill < ../ask"},
	{"core.alternateRefsCommand", "tools/x", "git clone -q . ../alt; echo $PWD/../alt/.git/objects > .git/objects/info/alternates; git fetch ../alt"},
	{"diff.external", "tools/x", "echo z >> f; git diff"},
	{"diff.d.command", "tools/x", "echo z >> f; git diff"},
	{"diff.d.textconv", "tools/x", "echo z >> f; git diff"},
	{"filter.d.clean", "tools/x", "echo z >> f; git diff"},
	{"filter.d.smudge", "tools/x", "rm f; git checkout f"},
	{"filter.d.process", "tools/x", "rm f; git checkout f"},
	{"merge.d.driver", "tools/x %O %A %B", "git merge other"},
	{"interactive.diffFilter", "tools/x", "echo z >> f; printf 'q\\n' | script -qec 'git -c color.ui=always add -p' /dev/null"},
	{"gpg.program", "./tools/x", "git commit -S --allow-empty -m x"},
	{"gpg.openpgp.program", "./tools/x", "git tag -s -m x t"},
	{"gpg.ssh.defaultKeyCommand", "tools/x", "git -c gpg.format=ssh commit -S --allow-empty -m x"},
	{"gpg.ssh.program", "./tools/x", "git -c gpg.format=ssh -c user.signingKey=key::x commit -S --allow-empty -m x"},
	{"difftool.d.cmd", "tools/x", "echo z >> f; git difftool -y -t d"},
	{"mergetool.d.cmd", "tools/x", "git merge other; git mergetool -y -t d"},
	{"remote.r.uploadpack", "tools/x", "git fetch r"},
	{"remote.r.receivepack", "tools/x", "git push r HEAD"},
	{"trailer.t.command", "tools/x", "git commit --allow-empty -m x --trailer t=1"},
	{"trailer.t.cmd", "tools/x", "git commit --allow-empty -m x --trailer t=1"},
	{"tar.f.command", "tools/x", "git archive --format=f HEAD"},
	{"browser.b.cmd", "tools/x", "git web--browse -b b http://localhost/"},
	{"man.zz.cmd", "tools/x", "git -c man.viewer=zz help -m status"},
	{"imap.tunnel", "tools/x", "git -c imap.folder=x imap-send < ../mail"},
	{"core.hooksPath", "tools", "cp tools/x tools/post-index-change; echo z >> f; touch -d '1 minute' f; git add f"},
	{"include.path", "../tools/inc", "printf '[core]\\nfsmonitor=tools/x\\n' > tools/inc; git status"},
	{"includeIf.gitdir:/.path", "../tools/inc", "printf '[core]\\nfsmonitor=tools/x\\n' > tools/inc; git status"},
	{"core.attributesFile", "tools/attrs", "echo 'g filter=y' > tools/attrs; echo z >> g; git -c filter.y.clean=tools/x diff"},
}

// TestTargetsAgainstGit drives real git with each key that it acts on: the key
// makes git run the program, which shows that the case means something; and what
// the value names is among the targets, and the key may not be written inside.
func TestTargetsAgainstGit(t *testing.T) {
	needGit(t)
	for _, a := range acting {
		t.Run(a.key+" "+a.value, func(t *testing.T) {
			t.Parallel()
			base, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			run := func(script string) string {
				cmd := exec.Command("timeout", "-k", "1", "20", "sh", "-c", "cd "+base+"/p && "+script)
				cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + base, "GIT_CONFIG_NOSYSTEM=1", "TERM=xterm", "LC_ALL=C"}
				out, _ := cmd.CombinedOutput()
				return string(out)
			}
			if err := os.MkdirAll(base+"/p/tools", 0o755); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{
				".gitconfig": "[user]\nname=a\nemail=a@example.com\n[init]\ndefaultBranch=main\n[protocol \"file\"]\nallow=always\n",
				"ask":        "protocol=https\nhost=localhost\n\n", "mail": "From x Mon Sep 17 00:00:00 2001\nFrom: a\nDate: x\nSubject: x\n\nx\n",
				"p/tools/x": "#!/bin/sh\ntouch " + base + "/mark\nexit 1\n",
			} {
				if err := os.WriteFile(base+"/"+name, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			run(`git init -q && echo 'f diff=d filter=d merge=d' > .gitattributes && echo a > f && echo g > g && git add . && git commit -qm one && git checkout -qb other && echo b > f && git commit -qam two &&
				git checkout -q main && echo c > f && git commit -qam three && git clone -q . ../r && git remote add r ../r`)
			if out := run("git config " + a.key + " '" + a.value + "'; git config " + a.key); strings.TrimSpace(out) != a.value {
				t.Fatalf("the value is now %q", out)
			}
			l := Load(Host{Files: diskFiles{}, Env: func(string) string { return "" }, Home: base, Repositories: []Repository{{Dir: base + "/p/.git", Trees: []string{base + "/p"}}}})
			if list := l.Targets(); !slices.ContainsFunc(list, func(t Target) bool {
				return strings.HasPrefix(t.Path, base+"/p/tools") && strings.EqualFold(t.Key, a.key)
			}) {
				t.Errorf("not among the targets: %+v", list)
			}
			text, _ := os.ReadFile(base + "/p/.git/config")
			if VetChange([]byte(""), text) == nil {
				t.Error("it may be written inside")
			}
			_ = os.Remove(base + "/mark")
			out := run(a.command)
			if _, err := os.Lstat(base + "/mark"); err != nil {
				t.Errorf("canary: git does not run it: %s", out)
			}
		})
	}
}
