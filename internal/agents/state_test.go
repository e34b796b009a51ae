//go:build unix

package agents

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sides is a home directory and a private copy on disk.
type sides struct {
	t      testing.TB
	places Places
	agreed map[string]Agreed // by agent, of the last start or exchange
}

func newSides(t testing.TB) sides {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := sides{t, Places{HostHome: filepath.Join(dir, "home"), Private: filepath.Join(dir, "private")}, map[string]Agreed{}}
	for _, d := range []string{s.places.HostHome, s.places.Private} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s sides) host(place, text string)   { s.write(s.places.HostHome, place, text) }
func (s sides) inside(place, text string) { s.write(s.places.Private, place, text) }

func (s sides) write(root, place, text string) {
	s.t.Helper()
	file := filepath.Join(root, place)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// link makes a link at place below root.
func (s sides) link(root, target, place string) {
	s.t.Helper()
	file := filepath.Join(root, place)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Symlink(target, file); err != nil {
		s.t.Fatal(err)
	}
}

// read returns what is at place without following a link there; "-" is nothing.
func read(root, place string) string {
	file := filepath.Join(root, place)
	info, err := os.Lstat(file)
	switch {
	case err != nil:
		return "-"
	case !info.Mode().IsRegular():
		return info.Mode().Type().String()
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (s sides) wantInside(place, want string) {
	s.t.Helper()
	if got := read(s.places.Private, place); got != want {
		s.t.Errorf("inside %q: got %q, want %q", place, got, want)
	}
}

func (s sides) wantHost(place, want string) {
	s.t.Helper()
	if got := read(s.places.HostHome, place); got != want {
		s.t.Errorf("on the host %q: got %q, want %q", place, got, want)
	}
}

// in is a start.
func (s sides) in(name string) (Agreed, []Note) {
	s.t.Helper()
	a, _ := ByName(name)
	agreed, notes, err := MirrorIn(a, s.places, s.agreed[name])
	if err != nil {
		s.t.Fatal(err)
	}
	s.agreed[name] = agreed
	return agreed, notes
}

// out is an exchange after what was agreed on.
func (s sides) out(name string, before Agreed) []Note {
	s.t.Helper()
	a, _ := ByName(name)
	agreed, notes, err := SyncLogins(a, s.places, before)
	if err != nil {
		s.t.Fatal(err)
	}
	s.agreed[name] = agreed
	return notes
}

func wantNote(t testing.TB, notes []Note, text string) {
	t.Helper()
	for _, n := range notes {
		if strings.Contains(n.String(), text) {
			return
		}
	}
	t.Errorf("no note with %q in %v", text, notes)
}

func TestMirrorConfig(t *testing.T) {
	s := newSides(t)
	s.host(".claude/settings.json", `{"hooks":{}}`)
	s.host(".claude/commands/a/b.md", "b")
	s.host(".claude/status.sh", "#!/bin/sh\n")
	os.Chmod(filepath.Join(s.places.HostHome, ".claude/status.sh"), 0o755)
	s.host(".claude/projects/other/history.jsonl", "secret work")
	s.host(".claude/history.jsonl", "secret work")
	// What an agent left behind inside.
	s.inside(".claude/settings.json", `{"hooks":{"evil":1}}`)
	s.inside(".claude/commands/evil.md", "evil")
	s.inside(".claude/agents/evil.md", "evil")
	s.inside(".claude/evil.sh", "evil")
	s.inside(".claude/projects/mine/history.jsonl", "mine")

	if _, notes := s.in("claude"); len(notes) != 0 {
		t.Errorf("notes %v", notes)
	}
	s.wantInside(".claude/settings.json", `{"hooks":{}}`)
	s.wantInside(".claude/commands/a/b.md", "b")
	s.wantInside(".claude/commands/evil.md", "-")
	s.wantInside(".claude/agents", "-")
	s.wantInside(".claude/evil.sh", "-")
	s.wantInside(".claude/projects/mine/history.jsonl", "mine")
	s.wantInside(".claude/projects/other", "-")
	s.wantInside(".claude/history.jsonl", "-")
	if info, err := os.Stat(filepath.Join(s.places.Private, ".claude/status.sh")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("a script is not executable inside: %v, %v", info, err)
	}

	// Same size and time as the host's, other content: times prove nothing.
	host := filepath.Join(s.places.HostHome, ".claude/settings.json")
	info, _ := os.Stat(host)
	s.inside(".claude/settings.json", `{"HOOKS":{}}`)
	os.Chtimes(filepath.Join(s.places.Private, ".claude/settings.json"), time.Now(), info.ModTime())
	s.in("claude")
	s.wantInside(".claude/settings.json", `{"hooks":{}}`)

	// Gone on the host, gone inside.
	os.Remove(host)
	os.RemoveAll(filepath.Join(s.places.HostHome, ".claude/commands"))
	s.in("claude")
	s.wantInside(".claude/settings.json", "-")
	s.wantInside(".claude/commands", "-")
}

func TestMirrorLinksOnTheHost(t *testing.T) {
	s := newSides(t)
	home := s.places.HostHome
	s.host("dotfiles/settings.json", "dot")
	s.host("dotfiles/commands/x.md", "x")
	s.host(".codex/auth.json", "codex login")
	s.host(".ssh/id", "key")
	os.WriteFile(filepath.Join(filepath.Dir(home), "outside"), []byte("outside"), 0o600)
	s.link(home, filepath.Join(home, "dotfiles/settings.json"), ".claude/settings.json") // absolute
	s.link(home, "../dotfiles/commands", ".claude/commands")
	s.link(home, "../../.codex/auth.json", ".claude/agents/codex.md")
	s.link(home, "../../.codex", ".claude/agents/codex")
	s.link(home, "../../.ssh/id", ".claude/agents/key.md")
	s.link(home, "../../../outside", ".claude/agents/out.md")
	s.link(home, "..", ".claude/skills/loop")
	s.link(home, "nowhere", ".claude/rules")
	s.host("diary", "of nobody else")
	s.link(home, "../dotfiles/chained", ".claude/agents/chain.md")
	s.link(home, "../diary", "dotfiles/chained") // by whoever works there
	s.link(home, "../../diary", "dotfiles/commands/diary.md")
	if err := syscall.Mkfifo(filepath.Join(home, ".claude/agents/fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.places.Secret = []string{".ssh", ".claude/.credentials.json"}
	s.places.MaxFiles = 500

	_, notes := s.in("claude")
	s.wantInside(".claude/settings.json", "dot")
	s.wantInside(".claude/commands/x.md", "x")
	for _, name := range []string{"codex.md", "codex", "key.md", "out.md", "fifo"} {
		s.wantInside(".claude/agents/"+name, "-")
	}
	s.wantInside(".claude/rules", "-")
	for _, text := range []string{"out of the home", "holds secrets", "no regular file"} {
		wantNote(t, notes, text)
	}
	if all := dump(t, s.places.Private); strings.Contains(all, "codex login") || strings.Contains(all, "of nobody else") {
		t.Errorf("another agent's login, or what a link behind a link leads to, was copied: %q", all)
	}
}

func dump(t testing.TB, root string) string {
	var all strings.Builder
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, _ := os.ReadFile(p)
			all.Write(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// Links that an agent left in the private copy lead nothing out of it.
func TestMirrorLinksInside(t *testing.T) {
	s := newSides(t)
	victim := filepath.Join(filepath.Dir(s.places.HostHome), "victim")
	os.MkdirAll(filepath.Join(victim, "commands"), 0o700)
	os.WriteFile(filepath.Join(victim, "commands/keep"), []byte("keep"), 0o600)
	os.WriteFile(filepath.Join(victim, "settings.json"), []byte("keep"), 0o600)
	s.host(".claude/settings.json", "s")
	s.host(".claude/commands/x.md", "x")
	s.host(".claude/agents/a.md", "a")
	s.host(".claude/.credentials.json", `{"claudeAiOauth":{"a":1}}`)
	private := s.places.Private
	s.link(private, filepath.Join(victim, "settings.json"), ".claude/settings.json")
	s.link(private, filepath.Join(victim, "commands"), ".claude/commands")
	s.link(private, filepath.Join(victim, "settings.json"), ".claude/.credentials.json")
	s.inside(".claude/agents/a.md/deep/file", "a directory where a file belongs")
	s.in("claude")
	s.wantInside(".claude/settings.json", "s")
	s.wantInside(".claude/commands/x.md", "x")
	s.wantInside(".claude/agents/a.md", "a")

	os.RemoveAll(filepath.Join(private, ".claude"))
	s.link(private, victim, ".claude")
	s.in("claude")
	s.wantInside(".claude/commands/x.md", "x")
	for _, file := range []string{"commands/keep", "settings.json"} {
		if read(victim, file) != "keep" {
			t.Errorf("%q outside was changed to %q", file, read(victim, file))
		}
	}
	if entries, _ := os.ReadDir(victim); len(entries) != 2 {
		t.Errorf("files were written outside: %v", entries)
	}
}

func TestMirrorBounds(t *testing.T) {
	s := newSides(t)
	s.host(".claude/CLAUDE.md", "small")
	s.host(".claude/plugins/big", strings.Repeat("x", 2000))
	s.places.MaxBytes = 1000
	_, notes := s.in("claude")
	wantNote(t, notes, "budget")
	s.wantInside(".claude/CLAUDE.md", "small")
	s.wantInside(".claude/plugins/big", "-")

	s.places.MaxBytes = 0
	s.places.MaxFiles = 5
	for _, name := range strings.Split("abcdefghij", "") {
		s.host(".claude/commands/"+name, name)
	}
	_, notes = s.in("claude")
	wantNote(t, notes, "number of files")
}

func TestClaudeOnboarding(t *testing.T) {
	s := newSides(t)
	s.host(".claude.json", `{"hasCompletedOnboarding":true,"theme":"dark","oauthAccount":{"id":1},"userID":"u",
		"mcpServers":{"x":{"command":"y"}},"projects":{"/secret/project":{"history":["secret"]}},"numStartups":12345678901234567890}`)
	s.in("claude")
	var got map[string]any
	if err := json.Unmarshal([]byte(read(s.places.Private, ".claude/.claude.json")), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 5 || got["hasCompletedOnboarding"] != true || got["projects"] != nil {
		t.Errorf("got %v", got)
	}
	s.wantInside(".claude.json", "-")

	s.inside(".claude/.claude.json", `{"theme":"light","oauthAccount":{"id":7},"mcpServers":{"evil":{}},"projects":{"mine":1}}`)
	s.host(".claude.json", `{"theme":"dark","oauthAccount":{"id":2}}`)
	s.in("claude")
	got = nil
	if err := json.Unmarshal([]byte(read(s.places.Private, ".claude/.claude.json")), &got); err != nil {
		t.Fatal(err)
	}
	if got["theme"] != "light" || got["mcpServers"] != nil || got["projects"] == nil || got["oauthAccount"].(map[string]any)["id"] != 2.0 {
		t.Errorf("second start: got %v", got)
	}

	s.inside(".claude/.claude.json", `broken`)
	_, notes := s.in("claude")
	wantNote(t, notes, "begun anew")
}
