//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
)

// TestHostileProjectFile: a project's own policy file may tighten and nothing
// else; each key that widens is named with its line, and does nothing.
func TestHostileProjectFile(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file string
		warn       string // what the warning names
		script     string // prints OWNED when the file had its way
	}{
		{"network", "network: open\n", ".carrel.yaml:1", "ls -A /sys/class/net 2>/dev/null; grep -q : /proc/net/dev && awk 'NR>2' /proc/net/dev | grep -v lo: | grep -q . && echo OWNED"},
		{"write", "write:\n  - ~/secret\n", ".carrel.yaml:2", "echo OWNED > ~/secret/mark; cat ~/secret/file"},
		{"read", "read:\n  - ~/secret\n", ".carrel.yaml:2", "cat ~/secret/file"},
		{"read all", "read: [/]\n", ".carrel.yaml:1", "cat ~/secret/file"},
		{"write by place", "write: [':home']\n", ".carrel.yaml:1", "cat ~/secret/file"},
		{"display", "display: host\n", ".carrel.yaml:1", "test -n \"$DISPLAY\" && echo OWNED"},
		{"desktop", "display:\n  allow_desktop_gui: true\n", ".carrel.yaml:2", "test -n \"$DISPLAY\" && echo OWNED"},
		{"environment", "environment:\n  pass: [GITHUB_TOKEN]\n", ".carrel.yaml:2", "echo $GITHUB_TOKEN"},
		{"loader", "environment:\n  set:\n    LD_PRELOAD: /tmp/x\n    PATH: /tmp\n", ".carrel.yaml:3", "env | grep LD_PRELOAD && echo OWNED"},
		{"home", "home: full\n", ".carrel.yaml:1", "cat ~/secret/file"},
		{"nested", "nested: full\n", ".carrel.yaml:1", "unshare -Urm true && echo OWNED"},
		{"persona", "persona: human\n", ".carrel.yaml:1", "test -n \"$DISPLAY\" && echo OWNED"},
		{"device", "devices: [/dev/kmsg]\n", ".carrel.yaml:1", "test -e /dev/kmsg && echo OWNED"},
	}
	for _, tt := range tests {
		for _, place := range []string{".carrel.yaml", ".carrel/config.yaml"} {
			t.Run(tt.name+" "+place, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, ordinary(t))
				w.write(w.home+"/secret/file", "OWNED")
				w.setenv("GITHUB_TOKEN", "OWNED")
				w.setenv("DISPLAY", ":9")
				w.write(w.project+"/"+place, tt.file)
				r := w.run("--", "bash", "-c", tt.script)
				if strings.Contains(r.out, "OWNED") {
					t.Errorf("the project had its way: %s", r)
				}
				if r.code == 125 {
					t.Errorf("a wish that cannot be granted must not stop the work: %s", r)
				}
				if want := strings.Replace(tt.warn, ".carrel.yaml", place, 1); !strings.Contains(r.err, want) {
					t.Errorf("no warning names %s: %s", want, r)
				}
				if _, err := os.Lstat(w.home + "/secret/mark"); err == nil {
					t.Error("written outside")
				}
			})
		}
	}
}

// TestProjectFileTightens: what it takes away is taken away.
func TestProjectFileTightens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.project+"/.carrel.yaml", "deny: ['*.key']\nprotect: [vendor]\nnested: none\n")
	w.write(w.project+"/my.key", "SECRET")
	w.write(w.project+"/vendor/lib.c", "code")
	w.refused(nil, []string{"read", w.project + "/my.key"}, "EACCES")
	w.refused(nil, []string{"write", w.project + "/vendor/lib.c"}, "EROFS", "EACCES")
	w.fails(nil, []string{"in", "user", "euid"}, "EPERM")
}

// TestBrokenProjectFile stops the start, with the place and what would be right.
func TestBrokenProjectFile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ content, want string }{
		{"netwrok: open\n", ".carrel.yaml:1:1"}, {"network: maybe\n", ".carrel.yaml:1"}, {"deny: 5\n", ".carrel.yaml:1"},
		{"a: b: c\n", ".carrel.yaml:1"}, {"- x\n", ".carrel.yaml:1"}, {"network: closed\nnetwork: open\n", ".carrel.yaml:2"},
		{"deny: ['\xff']\n", ".carrel.yaml"}, {"deny: ['{a']\n", ".carrel.yaml:1"}, {strings.Repeat("[", 20000), ".carrel.yaml"},
		{"x: &a [*a]\n", ".carrel.yaml"}, {"\x00", ".carrel.yaml"},
	} {
		w := newWorld(t, ordinary(t))
		w.write(w.project+"/.carrel.yaml", tt.content)
		r := w.run("--", "echo", "started")
		if r.code != 125 || strings.Contains(r.out, "started") || !strings.Contains(r.err, tt.want) {
			t.Errorf("%.40q: %s", tt.content, r)
		}
		if strings.Count(r.err, "\n") > 10 || strings.ContainsAny(r.err, "\x00\x1b") || strings.Contains(r.err, "\xff") {
			t.Errorf("%.40q: the message is no message: %q", tt.content, r.err)
		}
	}
}

// TestProjectFileThatIsNoFile: links, FIFOs, directories and giants in its place.
func TestProjectFileThatIsNoFile(t *testing.T) {
	t.Parallel()
	t.Run("symlink outside", func(t *testing.T) {
		w := newWorld(t, ordinary(t))
		secret := w.write(w.outside+"/private", "SECRET: in a file\n")
		w.symlink(secret, w.project+"/.carrel.yaml")
		if r := w.run("--", "true"); strings.Contains(r.err, "SECRET") {
			t.Errorf("a private file is shown in a message: %s", r)
		}
	})
	t.Run("endless", func(t *testing.T) {
		w := newWorld(t, ordinary(t))
		w.symlink("/dev/zero", w.project+"/.carrel.yaml")
		if r := w.run("--", "true"); r.code != 125 && r.code != 0 {
			t.Errorf("%s", r)
		}
	})
	t.Run("fifo", func(t *testing.T) {
		w := newWorld(t, ordinary(t))
		w.outsideSh("mkfifo .carrel.yaml")
		if r := w.run("--", "true"); r.code != 125 {
			t.Errorf("%s", r)
		}
	})
	t.Run("directory", func(t *testing.T) {
		w := newWorld(t, ordinary(t))
		w.mkdir(w.project+"/.carrel.yaml", 0o700)
		if r := w.run("--", "true"); r.code != 125 {
			t.Errorf("%s", r)
		}
	})
	t.Run("loop", func(t *testing.T) {
		w := newWorld(t, ordinary(t))
		w.symlink(".carrel.yaml", w.project+"/.carrel.yaml")
		if r := w.run("--", "true"); r.code != 125 {
			t.Errorf("%s", r)
		}
	})
	t.Run("unreadable", func(t *testing.T) {
		w := newWorld(t, ordinary(t))
		w.write(w.project+"/.carrel.yaml", "network: closed\n")
		w.must(os.Chmod(w.project+"/.carrel.yaml", 0))
		if r := w.run("--", "true"); r.code != 125 {
			t.Errorf("%s", r)
		}
	})
	t.Run("huge", func(t *testing.T) {
		w := newWorld(t, ordinary(t))
		w.write(w.project+"/.carrel.yaml", "#"+strings.Repeat("x", 32<<20))
		if r := w.run("--", "true"); r.code != 125 {
			t.Errorf("%s", r)
		}
	})
}

// TestImpostor: an executable of the project with an agent's name is no agent.
func TestImpostor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.home+"/.claude/.credentials.json", `{"claudeAiOauth":{"accessToken":"SECRET"}}`)
	w.write(w.home+"/.codex/auth.json", `{"OPENAI_API_KEY":"SECRET"}`)
	w.setenv("ANTHROPIC_API_KEY", "SECRET")
	const spy = "#!/bin/sh\ncat ~/.claude/.credentials.json ~/.codex/auth.json 2>/dev/null; echo \"$ANTHROPIC_API_KEY\"; grep -c . /proc/net/dev\n"
	for _, name := range []string{"claude", "bin/claude", "node_modules/.bin/claude", "codex"} {
		w.script(w.project+"/"+name, spy)
		if r := w.plain(w.project + "/" + name); !strings.Contains(r.out, "SECRET") {
			t.Fatalf("canary: %s", r)
		}
		for _, argv := range [][]string{{"./" + name}, {w.project + "/" + name}, {"sh", name}, {"env", "./" + name}, {"bash", "-c", "./" + name}} {
			r := w.run(append([]string{"--"}, argv...)...)
			if strings.Contains(r.out, "SECRET") || r.code == 125 {
				t.Errorf("%q: %s", argv, r)
			}
		}
	}
	// Nor through PATH: an entry that leads into the project names nobody.
	w.setenv("PATH", w.project+":"+w.project+"/bin:/usr/bin:/bin")
	if r := w.run("--", "claude"); strings.Contains(r.out, "SECRET") {
		t.Errorf("from PATH: %s", r)
	}
	if r := w.run("--", "npx", "claude"); strings.Contains(r.out, "SECRET") {
		t.Errorf("by npx: %s", r)
	}
}

// TestCallersEnvironmentDoesNotAct: variables that make programs run code must
// act neither on our own processes nor inside.
func TestCallersEnvironmentDoesNotAct(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("git")
		w.repository()
		mark := "echo ran >> " + w.project + "/MARK; echo ran >> " + w.outside + "/MARK 2>/dev/null\n"
		w.write(w.project+"/evil.sh", mark)
		w.script(w.project+"/evil", "#!/bin/sh\n"+mark)
		for name, value := range map[string]string{
			"BASH_ENV": w.project + "/evil.sh", "ENV": w.project + "/evil.sh", "PROMPT_COMMAND": ". " + w.project + "/evil.sh", "SHELLOPTS": "xtrace", "PS4": "$(" + w.project + "/evil)",
			"LD_PRELOAD": w.project + "/evil.so", "LD_LIBRARY_PATH": w.project, "LD_AUDIT": w.project + "/evil.so", "GLIBC_TUNABLES": "glibc.malloc.check=3", "GCONV_PATH": w.project,
			"PYTHONSTARTUP": w.project + "/evil.py", "PYTHONPATH": w.project, "PYTHONHOME": w.project, "PERL5OPT": "-Mevil", "PERL5LIB": w.project, "RUBYOPT": "-revil", "NODE_OPTIONS": "--require=" + w.project + "/evil.js",
			"GIT_SSH_COMMAND": w.project + "/evil", "GIT_EXTERNAL_DIFF": w.project + "/evil", "GIT_PAGER": w.project + "/evil", "GIT_EXEC_PATH": w.project, "GIT_CONFIG_GLOBAL": w.project + "/evil", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": w.project + "/evil", "GIT_DIR": w.project + "/x", "GIT_PROXY_COMMAND": w.project + "/evil",
			"GODEBUG": "http2debug=2", "GOTRACEBACK": "crash", "GOMAXPROCS": "1", "EDITOR": w.project + "/evil", "PAGER": w.project + "/evil", "LESSOPEN": "|" + w.project + "/evil %s", "BROWSER": w.project + "/evil", "IFS": "x", "TMPDIR": w.project, "LOCPATH": w.project, "MAIL": w.project,
		} {
			w.setenv(name, value)
		}
		planted := w.project + "/planted"
		for _, tool := range []string{"bwrap", "mount", "umount", "ip", "git", "newuidmap", "newgidmap", "xdg-open", "sh", "node", "systemd-run", "unshare", "getent", "id"} {
			w.script(planted+"/"+tool, "#!/bin/sh\n"+mark)
		}
		w.setenv("PATH", planted+":.:"+w.project+"::/usr/bin:/bin")
		r := w.finish(w.command(w.bin, "run", "--", "/usr/bin/env"))
		if r.code != 0 {
			t.Fatalf("%s", r)
		}
		for _, name := range []string{"BASH_ENV", "ENV", "PROMPT_COMMAND", "PS4", "SHELLOPTS", "LD_", "GLIBC_TUNABLES", "GCONV_PATH", "PYTHONSTARTUP", "PYTHONHOME", "PERL5OPT", "RUBYOPT", "NODE_OPTIONS", "GIT_SSH_COMMAND", "GIT_EXTERNAL", "GIT_PAGER", "GIT_EXEC", "GIT_CONFIG_", "GIT_DIR", "GIT_PROXY", "LESSOPEN", "IFS", "LOCPATH"} {
			if strings.Contains("\n"+r.out, "\n"+name) {
				t.Errorf("%s is set inside:\n%s", name, r.out)
			}
		}
		w.finish(w.command(w.bin, "run", "--", "/bin/bash", "-c", "true"))
		if _, err := os.Lstat(w.project + "/MARK"); err == nil {
			t.Errorf("planted code ran inside or outside")
		}
		if _, err := os.Lstat(w.outside + "/MARK"); err == nil {
			t.Errorf("planted code ran OUTSIDE the walls")
		}
		w.unsetenv("LD_PRELOAD")
		w.unsetenv("LD_AUDIT")
		w.plain("/bin/bash", "-c", "true")
		if _, err := os.Lstat(w.outside + "/MARK"); err != nil {
			t.Errorf("canary: BASH_ENV does nothing outside")
		}
	})
}
