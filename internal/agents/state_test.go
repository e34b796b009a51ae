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

	"pgregory.net/rapid"
)

// sides is a home directory and a private copy on disk.
type sides struct {
	t      testing.TB
	places Places
}

func newSides(t testing.TB) sides {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := sides{t, Places{HostHome: filepath.Join(dir, "home"), Private: filepath.Join(dir, "private")}}
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

func (s sides) in(name string) (Snapshot, []Note) {
	s.t.Helper()
	a, _ := ByName(name)
	snapshot, notes, err := MirrorIn(a, s.places)
	if err != nil {
		s.t.Fatal(err)
	}
	return snapshot, notes
}

func (s sides) out(name string, before Snapshot) []Note {
	s.t.Helper()
	a, _ := ByName(name)
	notes, err := MergeOut(a, s.places, before)
	if err != nil {
		s.t.Fatal(err)
	}
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
	if strings.Contains(dump(t, s.places.Private), "codex login") {
		t.Error("another agent's login was copied")
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

func TestSeedOnce(t *testing.T) {
	s := newSides(t)
	s.host(".local/share/amp/secrets.json", "one")
	s.in("amp")
	s.wantInside(".local/share/amp/secrets.json", "one")
	s.host(".local/share/amp/secrets.json", "two")
	s.in("amp")
	s.wantInside(".local/share/amp/secrets.json", "one")
}

const login = ".claude/.credentials.json"

func TestMergeBack(t *testing.T) {
	tests := []struct {
		name            string
		host            string // at the start, "" for none
		inside          string // what the run leaves
		meanwhile       string // what the host has at the end, "" for unchanged
		want            string // on the host, white space aside
		note            string
		wantInsideFirst string // right after the start
	}{
		{name: "renewed inside", host: `{"claudeAiOauth":{"t":1},"other":{"keep":1.0}}`, inside: `{"claudeAiOauth":{"t":2},"other":{"evil":1},"new":1}`,
			want: `{"claudeAiOauth":{"t":2},"other":{"keep":1.0}}`, wantInsideFirst: `{"claudeAiOauth":{"t":1}}`},
		{name: "unchanged inside", host: `{"claudeAiOauth":{"t":1}}`, inside: `{"claudeAiOauth": {"t": 1}}`, want: `{"claudeAiOauth":{"t":1}}`},
		{name: "changed outside only", host: `{"claudeAiOauth":{"t":1}}`, inside: `{"claudeAiOauth":{"t":1}}`, meanwhile: `{"claudeAiOauth":{"t":3}}`,
			want: `{"claudeAiOauth":{"t":3}}`},
		{name: "changed on both sides", host: `{"claudeAiOauth":{"t":1}}`, inside: `{"claudeAiOauth":{"t":2}}`, meanwhile: `{"claudeAiOauth":{"t":3}}`,
			want: `{"claudeAiOauth":{"t":3}}`, note: "changed outside"},
		{name: "changed alike", host: `{"claudeAiOauth":{"t":1}}`, inside: `{"claudeAiOauth":{"t":2}}`, meanwhile: `{"claudeAiOauth":{"t":2}}`,
			want: `{"claudeAiOauth":{"t":2}}`},
		{name: "another key changed outside", host: `{"claudeAiOauth":{"t":1},"x":1}`, inside: `{"claudeAiOauth":{"t":2}}`, meanwhile: `{"claudeAiOauth":{"t":1},"x":2}`,
			want: `{"claudeAiOauth":{"t":2},"x":2}`},
		{name: "logged out inside", host: `{"claudeAiOauth":{"t":1}}`, inside: `{}`, want: `{"claudeAiOauth":{"t":1}}`},
		{name: "logged in inside", host: ``, inside: `{"claudeAiOauth":{"t":1},"x":1}`, want: `{"claudeAiOauth":{"t":1}}`},
		{name: "no JSON", host: `{"claudeAiOauth":{"t":1}}`, inside: `{"claudeAiOauth":`, want: `{"claudeAiOauth":{"t":1}}`, note: "no JSON object"},
		{name: "null", host: `{"claudeAiOauth":{"t":1}}`, inside: `null`, want: `{"claudeAiOauth":{"t":1}}`, note: "no JSON object"},
		{name: "too large", host: `{"claudeAiOauth":{"t":1}}`, inside: `{"claudeAiOauth":"` + strings.Repeat("x", maxJSON) + `"}`,
			want: `{"claudeAiOauth":{"t":1}}`, note: "larger than"},
		{name: "host not JSON", host: `broken`, inside: `{"claudeAiOauth":{"t":2}}`, want: `broken`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSides(t)
			s.host(".claude/x", "")
			if tt.host != "" {
				s.host(login, tt.host)
			}
			before, _ := s.in("claude")
			if tt.wantInsideFirst != "" && squeeze(read(s.places.Private, login)) != tt.wantInsideFirst {
				t.Errorf("inside at the start: %q", read(s.places.Private, login))
			}
			s.inside(login, tt.inside)
			if tt.meanwhile != "" {
				s.host(login, tt.meanwhile)
			}
			notes := s.out("claude", before)
			if got := squeeze(read(s.places.HostHome, login)); got != tt.want {
				t.Errorf("host has %q, want %q", got, tt.want)
			}
			if tt.note != "" {
				wantNote(t, notes, tt.note)
			} else if len(notes) != 0 {
				t.Errorf("notes %v", notes)
			}
			if info, err := os.Stat(filepath.Join(s.places.HostHome, login)); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", info, err)
			}
			if entries, _ := os.ReadDir(filepath.Join(s.places.HostHome, ".claude")); len(entries) != 2 {
				t.Errorf("left behind on the host: %v", entries)
			}
		})
	}
}

func squeeze(text string) string { return strings.Join(strings.Fields(text), "") }

func TestMergeBackNeverFollowsLinks(t *testing.T) {
	stolen := `{"claudeAiOauth":{"t":"stolen"}}`
	tests := map[string]func(s sides, victim string){
		"file": func(s sides, victim string) {
			os.Remove(filepath.Join(s.places.Private, login))
			s.link(s.places.Private, victim, login)
		},
		"link within the copy": func(s sides, _ string) {
			os.Remove(filepath.Join(s.places.Private, login))
			s.inside("other.json", stolen)
			s.link(s.places.Private, "../other.json", login)
		},
		"directory": func(s sides, victim string) {
			os.RemoveAll(filepath.Join(s.places.Private, ".claude"))
			s.link(s.places.Private, filepath.Dir(victim), ".claude")
		},
		"fifo": func(s sides, _ string) {
			os.Remove(filepath.Join(s.places.Private, login))
			if err := syscall.Mkfifo(filepath.Join(s.places.Private, login), 0o600); err != nil {
				s.t.Fatal(err)
			}
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSides(t)
			victim := filepath.Join(t.TempDir(), ".credentials.json")
			os.WriteFile(victim, []byte(stolen), 0o600)
			s.host(login, `{"claudeAiOauth":{"t":1}}`)
			before, _ := s.in("claude")
			change(s, victim)
			notes := s.out("claude", before)
			s.wantHost(login, `{"claudeAiOauth":{"t":1}}`)
			wantNote(t, notes, "not merged back")
		})
	}
}

func TestMergeBackWholeFile(t *testing.T) {
	s := newSides(t)
	s.host(".codex/auth.json", "{\n  \"tokens\": {\"a\": 1}\n}\n")
	before, _ := s.in("codex")
	s.wantInside(".codex/auth.json", "{\n  \"tokens\": {\"a\": 1}\n}\n")
	s.inside(".codex/auth.json", `{"tokens":{"a":2},"last_refresh":"now"}`)
	s.out("codex", before)
	s.wantHost(".codex/auth.json", `{"tokens":{"a":2},"last_refresh":"now"}`+"\n")
	// A login made outside is seen at the next start.
	s.host(".codex/auth.json", `{"tokens":{"a":3}}`)
	s.in("codex")
	s.wantInside(".codex/auth.json", `{"tokens":{"a":3}}`+"\n")
}

// A user's link from the login file to elsewhere in home stays a link.
func TestMergeBackThroughHostLink(t *testing.T) {
	s := newSides(t)
	s.host("vault/claude.json", `{"claudeAiOauth":1}`)
	s.link(s.places.HostHome, "../vault/claude.json", login)
	before, _ := s.in("claude")
	s.inside(login, `{"claudeAiOauth":2}`)
	s.out("claude", before)
	if got := squeeze(read(s.places.HostHome, "vault/claude.json")); got != `{"claudeAiOauth":2}` {
		t.Errorf("got %q", got)
	}
	s.wantHost(login, "L---------")
}

func TestMergeBackNeedsTheAgentOnTheHost(t *testing.T) {
	s := newSides(t)
	before, _ := s.in("claude")
	s.inside(login, `{"claudeAiOauth":2}`)
	wantNote(t, s.out("claude", before), "does not exist on the host")
	s.wantHost(".claude", "-")
}

func TestMergeBackWithoutSnapshot(t *testing.T) {
	s := newSides(t)
	s.host(login, `{"claudeAiOauth":1}`)
	s.in("claude")
	s.inside(login, `{"claudeAiOauth":2}`)
	s.out("claude", nil)
	s.wantHost(login, `{"claudeAiOauth":1}`)
}

func TestSnapshotHoldsNoSecrets(t *testing.T) {
	s := newSides(t)
	s.host(login, `{"claudeAiOauth":"canary"}`)
	before, _ := s.in("claude")
	text, err := json.Marshal(before)
	if err != nil || strings.Contains(string(text), "canary") || before[login]["claudeAiOauth"] == "" {
		t.Errorf("snapshot %s, %v", text, err)
	}
	var again Snapshot
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	s.inside(login, `{"claudeAiOauth":"renewed"}`)
	s.out("claude", again)
	if !strings.Contains(read(s.places.HostHome, login), "renewed") {
		t.Error("a stored snapshot does not merge")
	}
}

func TestPlacesAreChecked(t *testing.T) {
	a, _ := ByName("claude")
	for _, places := range []Places{{}, {HostHome: "x", Private: "/tmp/x"}, {HostHome: "/", Private: "/tmp/x"}, {HostHome: "/tmp", Private: "rel"}} {
		if _, _, err := MirrorIn(a, places); err == nil {
			t.Errorf("%+v accepted", places)
		}
	}
}

// Any name of bytes is mirrored, and twice is as once.
func TestMirrorIsExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		s := sides{t, Places{HostHome: filepath.Join(dir, "h"), Private: filepath.Join(dir, "p")}}
		name := rapid.StringMatching(`[a-c\n\\\x{e9}"]{1,3}`)
		files := rapid.MapOfN(name, rapid.StringN(0, 5, -1), 0, 4)
		for n, text := range files.Draw(rt, "host") {
			s.host(".claude/commands/"+n+"\xff", text)
		}
		for n, text := range files.Draw(rt, "inside") {
			s.inside(".claude/commands/"+n+"\xff", text)
		}
		os.MkdirAll(s.places.HostHome, 0o700)
		for range 2 {
			s.in("claude")
			want, got := tree(s.places.HostHome), tree(s.places.Private)
			if want != got {
				rt.Fatalf("got %q, want %q", got, want)
			}
		}
	})
}

func tree(root string) string {
	var all strings.Builder
	entries, _ := os.ReadDir(filepath.Join(root, ".claude/commands"))
	for _, e := range entries {
		all.WriteString(e.Name() + "=" + read(root, ".claude/commands/"+e.Name()) + ";")
	}
	return all.String()
}

func FuzzMergePick(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1}`, `{"a":{"b":[1,2]},"a":3}`, `null`, `[]`, `{"a":"\ud800"}`, "\xff", `{"a":1}x`} {
		f.Add([]byte(seed), []byte(`{"a":0,"z":{"y":"x"}}`))
	}
	f.Fuzz(func(t *testing.T, inside, outside []byte) {
		m := MergeFile{Keys: []string{"a"}}
		values, err := m.pick(inside)
		if err != nil {
			if values != nil {
				t.Fatal("a refused file has values")
			}
			return
		}
		host, err := parseObject(outside)
		if err != nil {
			return
		}
		merged, err := m.put(outside, values)
		if err != nil {
			return
		}
		again, err := parseObject(merged)
		if err != nil {
			t.Fatalf("merging made no JSON: %v", err)
		}
		for key, value := range host {
			if key != "a" && digest(again[key]) == "" && digest(value) != "" {
				t.Errorf("key %q was lost", key)
			}
		}
	})
}
