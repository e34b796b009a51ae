//go:build unix

package hooks

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"carrel/internal/settings"
	"time"
)

// place is a home directory with settings directories in it.
type place struct {
	*testing.T
	home string
	host Host
	env  map[string]string
}

func newPlace(t *testing.T) *place {
	p := &place{T: t, home: t.TempDir(), env: map[string]string{}}
	p.host = Host{Home: p.home, Getenv: func(name string) string { return p.env[name] }, Program: program}
	for _, dir := range []string{".claude", ".codex"} {
		p.must(os.Mkdir(filepath.Join(p.home, dir), 0o700))
	}
	return p
}

func (p *place) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *place) write(name, text string) string {
	p.Helper()
	path := filepath.Join(p.home, name)
	p.must(os.WriteFile(path, []byte(text), 0o600))
	return path
}

func (p *place) read(path string) string {
	p.Helper()
	text, err := os.ReadFile(path)
	p.must(err)
	return string(text)
}

// do plans and applies.
func (p *place) do(op Operation, agent string) error {
	p.Helper()
	c, err := p.host.Plan(op, agent)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Apply()
}

func (p *place) state(agent string) State {
	p.Helper()
	r, err := p.host.Status(agent)
	p.must(err)
	return r.State
}

// names lists what is in a directory: nothing may be left beside the file.
func (p *place) names(dir string) []string {
	p.Helper()
	entries, err := os.ReadDir(filepath.Join(p.home, dir))
	p.must(err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestThereAndBack(t *testing.T) {
	for _, c := range []struct{ agent, file, text string }{
		{"claude", ".claude/settings.json", "{\n\t\"model\": \"m\" // mine\n}\n"},
		{"claude", ".claude/settings.json", ""},
		{"codex", ".codex/config.toml", "model = \"m\" # mine\n"},
		{"codex", ".codex/config.toml", ""},
		{"codex", ".codex/hooks.json", "{\"hooks\": {}}"},
	} {
		t.Run(c.file, func(t *testing.T) {
			p := newPlace(t)
			path := filepath.Join(p.home, c.file)
			want := NotInstalled
			if c.text != "" {
				p.write(c.file, c.text)
				p.must(os.Chmod(path, 0o640))
			} else {
				want = Missing
			}
			if got := p.state(c.agent); got != want {
				t.Errorf("before: %s, want %s", got, want)
			}
			p.must(p.do(Install, c.agent))
			if got := p.state(c.agent); got != Installed || strings.Count(p.read(path), program+" step ") != len(agentNamed(c.agent).events) {
				t.Errorf("installed: %s\n%s", got, p.read(path))
			}
			info, err := os.Stat(path)
			p.must(err)
			if perm := info.Mode().Perm(); c.text != "" && perm != 0o640 || c.text == "" && perm != 0o600 {
				t.Errorf("mode %04o", perm)
			}
			p.must(p.do(Install, c.agent))
			if after, err := os.Stat(path); err != nil || !os.SameFile(info, after) {
				t.Errorf("the second installation wrote the file: %v", err)
			}
			p.must(p.do(Remove, c.agent))
			if got := p.state(c.agent); got != want {
				t.Errorf("removed: %s, want %s", got, want)
			}
			if left := p.names(filepath.Dir(c.file)); c.text == "" && len(left) > 0 || len(left) > 1 {
				t.Errorf("left: %q", left)
			}
			if c.text != "" && p.read(path) != c.text {
				t.Errorf("got %q, want %q", p.read(path), c.text)
			}
			p.must(p.do(Remove, c.agent))
		})
	}
}

// TestPartly: what is missing is added, and what is there stays once.
func TestPartly(t *testing.T) {
	p := newPlace(t)
	path := p.write(".claude/settings.json", "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\""+line(verbEnd)+"\"}]}]}}")
	if got := p.state("claude"); got != Partly {
		t.Errorf("got %s", got)
	}
	p.must(p.do(Install, "claude"))
	if got := p.read(path); strings.Count(got, program+" step ") != 6 || p.state("claude") != Installed {
		t.Errorf("got %s", got)
	}
}

// TestBothFiles: entries go to where the user's hooks are, and are taken out of
// both.
func TestBothFiles(t *testing.T) {
	p := newPlace(t)
	config := p.write(".codex/config.toml", "a = 1\n")
	p.must(p.do(Install, "codex"))
	text := p.read(config)
	json := p.write(".codex/hooks.json", "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \""+line(verbEnd)+"\"}]}]}}")
	p.must(p.do(Remove, "codex"))
	if got := p.read(json); got != "{\"hooks\": {\"Stop\": []}}" {
		t.Errorf("hooks.json: %s", got)
	}
	if got := p.read(config); got != "a = 1\n" {
		t.Errorf("config.toml: %q, before %q", got, text)
	}
}

// TestLink: the file that a link leads to is edited, the link stays.
func TestLink(t *testing.T) {
	p := newPlace(t)
	p.must(os.Mkdir(filepath.Join(p.home, "dots"), 0o755))
	target := p.write("dots/claude.json", "{}")
	link := filepath.Join(p.home, ".claude/settings.json")
	p.must(os.Symlink("../dots/claude.json", link))
	p.must(p.do(Install, "claude"))
	if to, err := os.Readlink(link); err != nil || to != "../dots/claude.json" || !strings.Contains(p.read(target), " step begin ") {
		t.Errorf("%q, %v, %s", to, err, p.read(target))
	}
	p.must(p.do(Remove, "claude"))
	if got := p.read(target); got != "{}" || len(p.names("dots")) != 1 {
		t.Errorf("got %q, %q", got, p.names("dots"))
	}
	// A file that we made is removed; one that a link leads to is not.
	made, err := claude.install(formatJSON, nil, program)
	p.must(err)
	p.write("dots/claude.json", string(made))
	p.must(p.do(Remove, "claude"))
	if got := p.read(target); strings.TrimSpace(strings.ReplaceAll(got, "\n", "")) != "{}" {
		t.Errorf("got %q", got)
	}
}

// TestLinkTurned: a link that leads elsewhere by now is somebody's edit too.
func TestLinkTurned(t *testing.T) {
	p := newPlace(t)
	first, second := p.write("first", "{}"), p.write("second", "{}")
	link := filepath.Join(p.home, ".claude/settings.json")
	p.must(os.Symlink(first, link))
	change, err := p.host.Plan(Install, "claude")
	p.must(err)
	defer change.Close()
	p.must(os.Remove(link))
	p.must(os.Symlink(second, link))
	if err := change.Apply(); err == nil || p.read(first) != "{}" || p.read(second) != "{}" {
		t.Errorf("got %v, %q, %q", err, p.read(first), p.read(second))
	}
}

// TestNotOurs: what is no plain file of the user's own is left as it is.
func TestNotOurs(t *testing.T) {
	for name, c := range map[string]struct {
		make func(p *place, path string)
		want string
	}{
		"a link to nothing": {func(p *place, path string) { p.must(os.Symlink("nowhere", path)) }, "following the link: no such file"},
		"a loop":            {func(p *place, path string) { p.must(os.Symlink("settings.json", path)) }, "following the link: "},
		"a FIFO":            {func(p *place, path string) { p.must(syscall.Mkfifo(path, 0o600)) }, "not a regular file"},
		"a directory":       {func(p *place, path string) { p.must(os.Mkdir(path, 0o700)) }, "not a regular file"},
		"too large":         {func(p *place, path string) { p.must(os.WriteFile(path, make([]byte, settings.MaxFile+1), 0o600)) }, "larger than 16 MiB"},
		"too large with ours": {func(p *place, path string) {
			p.write(".claude/settings.json", "{}"+strings.Repeat(" ", settings.MaxFile-2))
		}, "with the hooks: larger than 16 MiB"},
		"write-protected": {func(p *place, path string) { p.write(".claude/settings.json", "{}"); p.must(os.Chmod(path, 0o400)) }, "write-protected (mode 0400)"},
		"another name": {func(p *place, path string) {
			p.write(".claude/settings.json", "{}")
			p.must(os.Link(path, filepath.Join(p.home, "other")))
		}, "2 names (hard links)"},
		"not JSON": {func(p *place, path string) { p.write(".claude/settings.json", "{\n  \"a\": }\n") }, "settings.json:2:8: "},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			path := filepath.Join(p.home, ".claude/settings.json")
			c.make(p, path)
			before, _ := os.Lstat(path)
			done := make(chan error, 1)
			go func() { done <- p.do(Install, "claude") }()
			select {
			case err := <-done:
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), path+":") {
					t.Errorf("got %v, want %q after %q", err, c.want, path)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("it waits")
			}
			if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) || after.Size() != before.Size() || len(p.names(".claude")) != 1 {
				t.Errorf("it was changed: %v %q", err, p.names(".claude"))
			}
		})
	}
}

func TestSomebodyElses(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("making files of somebody else takes root")
	}
	p := newPlace(t)
	path := p.write(".claude/settings.json", "{}")
	p.must(os.Chown(path, 65534, 65534))
	if err := p.do(Install, "claude"); err == nil || !strings.Contains(err.Error(), "belongs to user 65534") {
		t.Errorf("got %v", err)
	}
	p.must(os.Chown(path, 0, 65534))
	p.must(p.do(Install, "claude"))
	if info, err := os.Stat(path); err != nil || info.Sys().(*syscall.Stat_t).Gid != 65534 {
		t.Errorf("the group was not kept: %v", err)
	}
}

// TestAccessControlList: without it the mode would mean something else.
func TestAccessControlList(t *testing.T) {
	p := newPlace(t)
	path := p.write(".claude/settings.json", "{}")
	if out, err := exec.Command("setfacl", "-m", "u:65534:r,g::-", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	acl := func() string {
		out, err := exec.Command("getfacl", "-cpn", path).Output()
		p.must(err)
		return string(out)
	}
	before := acl()
	p.must(p.do(Install, "claude"))
	if after := acl(); after != before || !strings.Contains(after, "user:65534:r--") {
		t.Errorf("got %q, want %q", after, before)
	}
}

// TestMeanwhile: what somebody else writes between our look and our write is
// not lost.
func TestMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		first  string // "" for no file
		change func(p *place, path string)
	}{
		"written into":  {"{}", func(p *place, path string) { p.write(".claude/settings.json", "{\"b\": 2}") }},
		"replaced":      {"{}", func(p *place, path string) { p.must(os.Remove(path)); p.write(".claude/settings.json", "{}") }},
		"removed":       {"{}", func(p *place, path string) { p.must(os.Remove(path)) }},
		"made":          {"", func(p *place, path string) { p.write(".claude/settings.json", "{\"b\": 2}") }},
		"made a link":   {"", func(p *place, path string) { p.must(os.Symlink(p.write("other", "{}"), path)) }},
		"mode":          {"{}", func(p *place, path string) { p.must(os.Chmod(path, 0o644)) }},
		"now a link":    {"{}", func(p *place, path string) { p.must(os.Remove(path)); p.must(os.Symlink(p.write("other", "{}"), path)) }},
		"now a fifo":    {"{}", func(p *place, path string) { p.must(os.Remove(path)); p.must(syscall.Mkfifo(path, 0o600)) }},
		"now enormous":  {"{}", func(p *place, path string) { p.must(os.Truncate(path, 1<<30)) }},
		"to be removed": {"ours", func(p *place, path string) { p.write(".claude/settings.json", "{\"b\": 2}") }},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			path := filepath.Join(p.home, ".claude/settings.json")
			op := Install
			switch c.first {
			case "ours":
				p.must(p.do(Install, "claude"))
				op = Remove
			case "":
			default:
				p.write(".claude/settings.json", c.first)
			}
			change, err := p.host.Plan(op, "claude")
			p.must(err)
			defer change.Close()
			c.change(p, path)
			before, _ := os.Lstat(path)
			names := p.names(".claude")
			if err := change.Apply(); err == nil || !strings.Contains(err.Error(), "somebody else has changed it") {
				t.Errorf("got %v", err)
			}
			after, _ := os.Lstat(path)
			if (before == nil) != (after == nil) || before != nil && (!os.SameFile(before, after) || before.Size() != after.Size()) {
				t.Errorf("%v became %v", before, after)
			}
			if got := p.names(".claude"); !slices.Equal(got, names) {
				t.Errorf("left: %q, was %q", got, names)
			}
		})
	}
}

// TestNoDirectory: an agent that was never started has nothing to edit.
func TestNoDirectory(t *testing.T) {
	p := newPlace(t)
	p.must(os.Remove(filepath.Join(p.home, ".claude")))
	if err := p.do(Install, "claude"); err == nil || !strings.Contains(err.Error(), "hint: start Claude Code once") {
		t.Errorf("got %v", err)
	}
	p.must(p.do(Remove, "claude"))
	if got := p.state("claude"); got != Missing || p.host.Present("claude") || !p.host.Present("codex") {
		t.Errorf("got %s", got)
	}
	p.env["CODEX_HOME"] = "relative"
	if _, err := p.host.Status("codex"); err == nil || !strings.Contains(err.Error(), "not an absolute path") {
		t.Errorf("got %v", err)
	}
}

// TestNotes: what keeps the hooks from running is said.
func TestNotes(t *testing.T) {
	for _, c := range []struct{ name, agent, file, text, want string }{
		{"a comment", "claude", ".claude/settings.json", "{\n // c\n \"a\": 1\n}", "ignores the whole file for the comment or comma in line 2"},
		{"switched off", "claude", ".claude/settings.json", "{\"disableAllHooks\": true}", "disableAllHooks is set"},
		{"nothing", "claude", ".claude/settings.json", "{}", ""},
		{"not looked at", "codex", ".codex/config.toml", "", "start codex outside"},
		{"no hooks", "codex", ".codex/config.toml", "[features]\nhooks = false\n", "features.hooks is false"},
		{"looked at", "codex", ".codex/config.toml", "[hooks.state]\n[hooks.state.\"HOME/.codex/config.toml:pre_tool_use:0:0\"]\ntrusted_hash = \"h\"\n" +
			"[hooks.state.\"HOME/.codex/config.toml:post_tool_use:0:0\"]\ntrusted_hash = \"h\"\n[hooks.state.\"HOME/.codex/config.toml:stop:0:0\"]\ntrusted_hash = \"h\"\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			p.write(c.file, strings.ReplaceAll(c.text, "HOME", p.home))
			p.must(p.do(Install, c.agent))
			r, err := p.host.Status(c.agent)
			p.must(err)
			if got := strings.Join(r.Notes, "\n"); c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	p := newPlace(t)
	p.env["CLAUDE_CONFIG_DIR"] = filepath.Join(p.home, ".codex")
	p.must(p.do(Install, "claude"))
	if r, err := p.host.Status("claude"); err != nil || r.File != filepath.Join(p.home, ".codex/settings.json") || len(r.Notes) != 1 {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestHarmless: run by any shell, the command line does nothing and succeeds
// where carrel is not, and where carrel does not know steps.
func TestHarmless(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old")
	if err := os.WriteFile(old, []byte("#!/bin/sh\necho noise; echo noise >&2; exit 2\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"/run/carrel/bin/none", filepath.Join(dir, "none"), dir, old} {
		for _, shell := range []string{"sh", "bash"} {
			cmd := exec.Command(shell, "-c", claude.commandLine(program, verbBegin))
			cmd.Env = []string{"PATH=/usr/bin:/bin"}
			cmd.Stdin = strings.NewReader("{}")
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%s, %s: %v, %q", shell, program, err, out)
			}
		}
	}
}
