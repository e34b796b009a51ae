package gitconf

import (
	"errors"
	"path"
	"slices"
	"strings"
	"testing"
)

var errMissing = errors.New("missing")

// memory is a file system of files, links ("-> text") and directories ("/").
type memory map[string]string

func (m memory) at(p string) (string, bool) {
	_, final := Follow(m, p)
	text, ok := m[final]
	return text, ok
}

func (m memory) Read(p string, limit int) ([]byte, error) {
	text, ok := m.at(p)
	if !ok || text == "/" {
		return nil, errMissing
	}
	if len(text) > limit {
		return nil, errors.New("too long")
	}
	return []byte(text), nil
}

func (m memory) Link(p string) (string, bool) { return strings.CutPrefix(m[p], "-> ") }
func (m memory) Dir(p string) bool            { return m[p] == "/" }
func (m memory) Regular(p string) bool        { text, ok := m[path.Clean(p)]; return ok && text != "/" }
func (m memory) Missing(err error) bool       { return err == errMissing }
func (m memory) host(env ...string) Host {
	return Host{Files: m, Home: "/home/u", Repositories: []Repository{{Dir: "/p/.git", Trees: []string{"/p"}}}, Env: func(name string) string {
		for _, e := range env {
			if v, ok := strings.CutPrefix(e, name+"="); ok {
				return v
			}
		}
		return ""
	}}
}

// below gives the targets in the project, and those that hold anywhere as "*/x".
func below(list []Target) []string {
	var out []string
	for _, t := range list {
		p := strings.TrimPrefix(t.Path, "/p/")
		switch {
		case t.Near:
			continue
		case t.Rest != "":
			p = "*/" + t.Rest
		case p == t.Path:
			continue
		}
		if t.Tree {
			p += "/"
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

func TestTargets(t *testing.T) {
	passwd := "root:x:0:0::/root:/bin/sh\nother:x:1:1::/p:/bin/sh\n"
	for _, c := range []struct {
		name, config, want string
		more               memory
	}{
		{"missing directory", "[core]hooksPath=build/hooks", ".git/build/hooks/ build/hooks/", nil},
		{"trailing comment", "[core]\n\thooksPath = tools/hooks ; shared", ".git/tools/hooks/ tools/hooks/", nil},
		{"absolute", "[core]hooksPath=/p/h/../hooks/", "hooks/", nil},
		{"another user's home", "[core]hooksPath=~other/h", "h/", nil},
		{"the top", "[core]hooksPath=/p\n[core]x", "", nil},
		{"links on the way", "[core]hooksPath=/p/a/hooks", "a real/b c/hooks/", memory{"/p/a": "-> real/b", "/p/real": "/", "/p/real/b": "-> ../c"}},
		{"a link to nowhere", "[core]fsmonitor=/p/a", "a gone", memory{"/p/a": "-> gone"}},
		{"a loop", "[core]fsmonitor=/p/a", "a", memory{"/p/a": "-> a"}},
		{"an include", "[include]path=../.local", ".local", nil},
		{"a nested include", "[include]path=../a.inc", "a.inc d/b.inc d/x.sh", memory{"/p/a.inc": "[include]\npath=d/b.inc", "/p/d/b.inc": "[core]fsmonitor=/p/d/x.sh"}},
		{"an include of itself", "[include]path=config\n[core]editor=/p/x", ".git/config x", nil},
		{"a condition that does not hold", "[includeIf \"onbranch:never\"]path=/p/c", "c x", memory{"/p/c": "[core]pager=/p/x"}},
		{"config.worktree", "", "x", memory{"/p/.git/config.worktree": "[core]sshCommand=/p/x -v"}},
		{"the user's, relative", "", "*/.myhooks/ .myhooks/", memory{"/home/u/.gitconfig": "[core]hooksPath=.myhooks"}},
		{"the user's include", "", "user.inc", memory{"/home/u/.config/git/config": "[include]path=/p/user.inc"}},
		{"the system's", "", "x", memory{"/etc/gitconfig": "[core]editor=/p/x"}},
		{"a filter with arguments", "[filter \"x\"]clean=python3 tools/f.py %f", "tools/f.py", nil},
		{"an interpreter and a bare name", "[filter \"x\"]\nclean=sh x y", "x", nil},
		{"a bare name for PATH", "[core]pager=less -FRX", "", nil},
		{"a script in words", "[core]editor=sh -c './e \"$@\"'", "e", nil},
		{"quotes in quotes", `[core]editor="sh -c \"sh -c './tools/e x'\""`, "tools/e", nil},
		{"an alias", "[alias]x=!./tools/x && ./y", "tools/x y", nil},
		{"an alias of words", "[alias]x=-c core.pager=./y log", "y", nil},
		{"an alias that changes options", "[alias]co=checkout", "", nil},
		{"a directory as argument", "[alias]x=!ls /p/src", "", memory{"/p/src": "/"}},
		{"changes directory", "[alias]x=!cd tools && ./x", "tools/x x", nil},
		{"the top by a command", "[alias]x=\"!$(git rev-parse --show-toplevel)/a.sh; $GIT_DIR/b.sh; $TOP/c.sh\"", ".git/b.sh a.sh c.sh", nil},
		{"an alias in an alias", "[alias]x=!git -c alias.y=!tools/x y", "tools/x", nil},
		{"a parameter's default", "[alias]x=\"!${GIT_PREFIX:-./}tools/x; ${A}/b.sh; ${C-tools/c}\"", "b.sh tools/c tools/x", nil},
		{"a parameter that ends with its quotes", `[alias]x="!\"$GIT_PREFIX\"tools/x; sh \"$A\"b/c"`, "b/c tools/x", nil},
		{"a remote that is a command", "[remote \"o\"]url=ext::tools/a %S\npushurl=https://h/p/b\n" +
			"[url \"ext::sh tools/c \"]insteadOf=me:\n[branch \"m\"]remote=ext::./d", "d tools/a tools/c", nil},
		{"options", "[core]sshCommand=ssh -F /p/cfg -i~/k --x=/p/y", "cfg y", nil},
		{"variables", "[core]sshCommand=A=/p/x PATH=/p/bin:$PATH sh f", "bin/ f x", nil},
		{"a module", "[filter \"x\"]clean=python3 -m tools.f", "tools/f.py tools/f/__init__.py tools/f/__main__.py", nil},
		{"an existing file", "[filter \"x\"]\nclean=run it", "it", memory{"/p/it": "x"}},
		{"a helper", "[credential]helper=/p/h -x\n[credential \"u\"]helper=store --file /p/c\n[credential]\nhelper=!/p/s", "c h s", nil},
		{"booleans", "[core]fsmonitor=true\n[pager]log=false", "", nil},
		{"a program", "[gpg]program=/p/my gpg\n[gpg \"ssh\"]program=ssh-keygen", "my gpg", nil},
		{"attributes", "[core]attributesFile=~/../../p/attrs", "attrs", nil},
		{"optional", "[commit]template=:(optional)/p/t", "t", nil},
	} {
		m := memory{"/p": "/", "/p/.git": "/", "/p/.git/config": c.config, "/etc/passwd": passwd}
		for k, v := range c.more {
			m[k] = v
		}
		l := Load(m.host())
		got := strings.Join(below(l.Targets()), " ")
		if c.name == "the top" {
			if !strings.Contains(got, "pre-commit") || slices.ContainsFunc(l.Targets(), func(t Target) bool { return t.Path == "/p" }) {
				t.Errorf("%s: %q", c.name, got)
			}
			continue
		}
		want := strings.Fields(c.want)
		slices.Sort(want)
		if c.name == "a program" {
			want = []string{"my gpg"}
		}
		if got != strings.Join(want, " ") {
			t.Errorf("%s: %q, want %q; %q", c.name, got, want, l.Problems)
		}
	}
}

// TestNearTargets: what a repository names by a relative path means another file in each of
// its working trees, those to come too.
func TestNearTargets(t *testing.T) {
	for config, want := range map[string]string{
		"[core]hooksPath=tools/hooks": "tools/hooks/", "[core]hooksPath=hooks": "hooks/", "[core]hooksPath=/p/hooks": "", "[core]hooksPath=../hooks": "",
		"[filter \"x\"]clean=./tools/f %f": "tools/f", "[alias]x=!y": "", "[core]pager=less": "",
	} {
		var got []string
		m := memory{"/p": "/", "/p/.git": "/", "/p/.git/config": config}
		for _, t := range Load(m.host()).Targets() {
			if t.Near && t.Tree {
				t.Rest += "/"
			}
			if t.Near {
				got = append(got, t.Rest)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q", config, got)
		}
	}
}

func TestTargetsOfTheEnvironment(t *testing.T) {
	m := memory{"/p/.git/config": "", "/p/sys": "[core]editor=/p/e1", "/p/glob": "[core]editor=/p/e2", "/p/xdg/git/config": "[core]editor=/p/e3"}
	l := Load(m.host("GIT_CONFIG_SYSTEM=/p/sys", "GIT_CONFIG_GLOBAL=/p/glob", "XDG_CONFIG_HOME=/p/xdg", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=Core.HooksPath", "GIT_CONFIG_VALUE_0=/p/hooks", "GIT_CONFIG_PARAMETERS='core.pager=/p/a b' 'alias.X'='!/p/c'", "GIT_SSH_COMMAND=sh /p/s"))
	if got := strings.Join(below(l.Targets()), " "); got != "a c e1 e2 e3 hooks/ s" {
		t.Errorf("got %q", got)
	}
}

func TestTargetsNameTheirPlace(t *testing.T) {
	l := Load(memory{"/p/.git/config": "[a]\n\n[core]\n\thooksPath = h\n"}.host())
	list := l.Targets()
	if len(list) == 0 || list[0].Names() != "core.hookspath in /p/.git/config, line 4" || list[0].Why == "" {
		t.Errorf("got %+v", list)
	}
}

// TestLoadIsBounded: chains and fans of includes end, and are told of.
func TestLoadIsBounded(t *testing.T) {
	m := memory{"/p/.git/config": "[include]path=/p/1"}
	for _, n := range []string{"1", "2", "3", "4", "5"} {
		text := ""
		for range 400 {
			text += "[include]path=/p/" + n + strings.Repeat("x", len(text)%97) + "\n"
		}
		m["/p/"+n] = text + "[include]path=/p/2\n[include]path=/p/3\n"
	}
	m["/p/long"] = strings.Repeat("#", maxSourceBytes+1)
	m["/home/u/.gitconfig"] = "[include]path=/p/long\n[broken\n"
	l := Load(m.host())
	if len(l.Problems) < 2 {
		t.Errorf("problems: %q", l.Problems)
	}
}

func FuzzTargets(f *testing.F) {
	for _, s := range []string{"[core]fsmonitor=sh -c 'x'", "[alias]x=!a;b|c", "[include]path=config", "[core]hooksPath=~/x", "[a]b=\\", "[core]editor=\"$(git rev-parse --git-dir)/x\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l := Load(memory{"/p/.git/config": string(data), "/home/u/.gitconfig": string(data)}.host())
		for _, target := range l.Targets() {
			if target.Path != "" && (path.Clean(target.Path) != target.Path || !path.IsAbs(target.Path)) || target.Path == "" && target.Rest == "" {
				t.Fatalf("%+v", target)
			}
		}
	})
}
