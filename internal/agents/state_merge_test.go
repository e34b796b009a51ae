//go:build unix

package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

// TestRenew: whatever a hostile run leaves in a login file, only tokens that
// the host has already change.
func TestRenew(t *testing.T) {
	for _, row := range []struct{ name, host, inside, want string }{
		{"tokens of a known entry", `{"a":{"type":"oauth","access":"x","refresh":"y","expires":1}}`, `{"a":{"type":"oauth","access":"X","refresh":"Y","expires":2}}`,
			`{"a":{"type":"oauth","access":"X","refresh":"Y","expires":2}}`},
		{"a key that is a command", `{"a":{"type":"api_key","key":"k"}}`, `{"a":{"type":"api_key","key":"!id"}}`, `{"a":{"type":"api_key","key":"k"}}`},
		{"a command in a token", `{"a":{"access":"x"}}`, `{"a":{"access":"!id"}}`, `{"a":{"access":"x"}}`},
		{"a variable in a token", `{"a":{"access":"x"}}`, `{"a":{"access":"${HOME}"}}`, `{"a":{"access":"x"}}`},
		{"a new entry", `{"a":{"access":"x"}}`, `{"a":{"access":"x"},"https://evil":{"type":"wellknown","key":"NODE_OPTIONS","token":"--require /x"}}`, `{"a":{"access":"x"}}`},
		{"a new field", `{"a":{"access":"x"}}`, `{"a":{"access":"X","refresh":"Y","key":"NODE_OPTIONS"}}`, `{"a":{"access":"X"}}`},
		{"another type", `{"a":{"type":"oauth","access":"x"}}`, `{"a":{"type":"wellknown","access":{"b":1}}}`, `{"a":{"type":"oauth","access":"x"}}`},
		{"an object where a token is", `{"access":"x"}`, `{"access":{"access":"y"}}`, `{"access":"x"}`},
		{"nested too deep", `{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"access":"x"}}}}}}}}`, `{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"access":"y"}}}}}}}}`,
			`{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"access":"x"}}}}}}}}`},
		{"no JSON", `{"access":"x"}`, `{"access":`, `{"access":"x"}`},
		{"null", `{"access":"x"}`, `{"access":null}`, `{"access":"x"}`},
	} {
		if got := (&renewer{names: tokenNames}).at([]byte(row.host), []byte(row.inside), "", 0); !sameJSON(got, []byte(row.want)) {
			t.Errorf("%s: got %s, want %s", row.name, got, row.want)
		}
	}
}

func TestSeedOnce(t *testing.T) {
	s := newSides(t)
	s.host(".augment/session.json", "one")
	s.in("auggie")
	s.wantInside(".augment/session.json", "one")
	s.host(".augment/session.json", "two")
	s.in("auggie")
	s.wantInside(".augment/session.json", "one")
}

const loginFile = ".claude/.credentials.json"

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
		{name: "renewed inside", host: `{"claudeAiOauth":{"accessToken":1},"other":{"keep":1.0}}`, inside: `{"claudeAiOauth":{"accessToken":2},"other":{"evil":1},"new":1}`,
			want: `{"claudeAiOauth":{"accessToken":2},"other":{"keep":1.0}}`, wantInsideFirst: `{"claudeAiOauth":{"accessToken":1}}`},
		{name: "unchanged inside", host: `{"claudeAiOauth":{"accessToken":1}}`, inside: `{"claudeAiOauth": {"accessToken": 1}}`, want: `{"claudeAiOauth":{"accessToken":1}}`},
		{name: "changed outside only", host: `{"claudeAiOauth":{"accessToken":1}}`, inside: `{"claudeAiOauth":{"accessToken":1}}`, meanwhile: `{"claudeAiOauth":{"accessToken":3}}`,
			want: `{"claudeAiOauth":{"accessToken":3}}`},
		{name: "changed on both sides", host: `{"claudeAiOauth":{"accessToken":1}}`, inside: `{"claudeAiOauth":{"accessToken":2}}`, meanwhile: `{"claudeAiOauth":{"accessToken":3}}`,
			want: `{"claudeAiOauth":{"accessToken":3}}`, note: "changed outside"},
		{name: "changed alike", host: `{"claudeAiOauth":{"accessToken":1}}`, inside: `{"claudeAiOauth":{"accessToken":2}}`, meanwhile: `{"claudeAiOauth":{"accessToken":2}}`,
			want: `{"claudeAiOauth":{"accessToken":2}}`},
		{name: "another key changed outside", host: `{"claudeAiOauth":{"accessToken":1},"x":1}`, inside: `{"claudeAiOauth":{"accessToken":2}}`, meanwhile: `{"claudeAiOauth":{"accessToken":1},"x":2}`,
			want: `{"claudeAiOauth":{"accessToken":2},"x":2}`},
		{name: "logged out inside", host: `{"claudeAiOauth":{"accessToken":1}}`, inside: `{}`, want: `{"claudeAiOauth":{"accessToken":1}}`},
		{name: "logged in inside", host: ``, inside: `{"claudeAiOauth":{"accessToken":1,"scopes":["a"],"evil":"id"},"x":1}`, want: `{"claudeAiOauth":{"accessToken":1,"scopes":["a"]}}`,
			note: "made inside"},
		{name: "no JSON", host: `{"claudeAiOauth":{"accessToken":1}}`, inside: `{"claudeAiOauth":`, want: `{"claudeAiOauth":{"accessToken":1}}`, note: "no JSON object"},
		{name: "null", host: `{"claudeAiOauth":{"accessToken":1}}`, inside: `null`, want: `{"claudeAiOauth":{"accessToken":1}}`, note: "no JSON object"},
		{name: "too large", host: `{"claudeAiOauth":{"accessToken":1}}`, inside: `{"claudeAiOauth":"` + strings.Repeat("x", maxJSON) + `"}`,
			want: `{"claudeAiOauth":{"accessToken":1}}`, note: "larger than"},
		{name: "host not JSON", host: `broken`, inside: `{"claudeAiOauth":{"accessToken":2}}`, want: `broken`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSides(t)
			s.host(".claude/x", "")
			if tt.host != "" {
				s.host(loginFile, tt.host)
			}
			before, _ := s.in("claude")
			if tt.wantInsideFirst != "" && squeeze(read(s.places.Private, loginFile)) != tt.wantInsideFirst {
				t.Errorf("inside at the start: %q", read(s.places.Private, loginFile))
			}
			s.inside(loginFile, tt.inside)
			if tt.meanwhile != "" {
				s.host(loginFile, tt.meanwhile)
			}
			notes := s.out("claude", before)
			if got := squeeze(read(s.places.HostHome, loginFile)); got != tt.want {
				t.Errorf("host has %q, want %q", got, tt.want)
			}
			if tt.note != "" {
				wantNote(t, notes, tt.note)
			} else if len(notes) != 0 {
				t.Errorf("notes %v", notes)
			}
			if info, err := os.Stat(filepath.Join(s.places.HostHome, loginFile)); err != nil || info.Mode().Perm() != 0o600 {
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
	stolen := `{"claudeAiOauth":{"accessToken":"stolen"}}`
	tests := map[string]func(s sides, victim string){
		"file": func(s sides, victim string) {
			os.Remove(filepath.Join(s.places.Private, loginFile))
			s.link(s.places.Private, victim, loginFile)
		},
		"link within the copy": func(s sides, _ string) {
			os.Remove(filepath.Join(s.places.Private, loginFile))
			s.inside("other.json", stolen)
			s.link(s.places.Private, "../other.json", loginFile)
		},
		"directory": func(s sides, victim string) {
			os.RemoveAll(filepath.Join(s.places.Private, ".claude"))
			s.link(s.places.Private, filepath.Dir(victim), ".claude")
		},
		"fifo": func(s sides, _ string) {
			os.Remove(filepath.Join(s.places.Private, loginFile))
			if err := syscall.Mkfifo(filepath.Join(s.places.Private, loginFile), 0o600); err != nil {
				s.t.Fatal(err)
			}
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSides(t)
			victim := filepath.Join(t.TempDir(), ".credentials.json")
			os.WriteFile(victim, []byte(stolen), 0o600)
			s.host(loginFile, `{"claudeAiOauth":{"accessToken":1}}`)
			before, _ := s.in("claude")
			change(s, victim)
			notes := s.out("claude", before)
			s.wantHost(loginFile, `{"claudeAiOauth":{"accessToken":1}}`)
			wantNote(t, notes, "not merged back")
		})
	}
}

func TestMergeBackWholeFile(t *testing.T) {
	s := newSides(t)
	s.host(".codex/auth.json", `{"last_refresh":"then","tokens":{"access_token":"a","kind":"x"}}`)
	before, _ := s.in("codex")
	s.wantInside(".codex/auth.json", `{"last_refresh":"then","tokens":{"access_token":"a","kind":"x"}}`+"\n")
	s.inside(".codex/auth.json", `{"tokens":{"access_token":"b","kind":"!id"},"last_refresh":"now","other":"new"}`)
	s.out("codex", before)
	s.wantHost(".codex/auth.json", `{"last_refresh":"now","tokens":{"access_token":"b","kind":"x"}}`+"\n")
	// A login made outside is seen at the next start.
	s.host(".codex/auth.json", `{"tokens":{"a":3}}`)
	s.in("codex")
	s.wantInside(".codex/auth.json", `{"tokens":{"a":3}}`+"\n")
}

// A user's link from the login file to elsewhere in home stays a link.
func TestMergeBackThroughHostLink(t *testing.T) {
	s := newSides(t)
	s.host("vault/claude.json", `{"claudeAiOauth":1}`)
	s.link(s.places.HostHome, "../vault/claude.json", loginFile)
	before, _ := s.in("claude")
	s.inside(loginFile, `{"claudeAiOauth":2}`)
	s.out("claude", before)
	if got := squeeze(read(s.places.HostHome, "vault/claude.json")); got != `{"claudeAiOauth":2}` {
		t.Errorf("got %q", got)
	}
	s.wantHost(loginFile, "L---------")
}

func TestMergeBackWithoutSnapshot(t *testing.T) {
	s := newSides(t)
	s.host(loginFile, `{"claudeAiOauth":1}`)
	s.in("claude")
	s.inside(loginFile, `{"claudeAiOauth":2}`)
	s.out("claude", Agreed{})
	s.wantHost(loginFile, `{"claudeAiOauth":1}`)
}

func TestSnapshotHoldsNoSecrets(t *testing.T) {
	s := newSides(t)
	s.host(loginFile, `{"claudeAiOauth":"canary"}`)
	before, _ := s.in("claude")
	text, err := json.Marshal(before)
	if err != nil || strings.Contains(string(text), "canary") || before.Host[loginFile]["claudeAiOauth"] == "" {
		t.Errorf("snapshot %s, %v", text, err)
	}
	var again Agreed
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	s.inside(loginFile, `{"claudeAiOauth":"renewed"}`)
	s.out("claude", again)
	if !strings.Contains(read(s.places.HostHome, loginFile), "renewed") {
		t.Error("a stored snapshot does not merge")
	}
}

func TestPlacesAreChecked(t *testing.T) {
	a, _ := ByName("claude")
	for _, places := range []Places{{}, {HostHome: "x", Private: "/tmp/x"}, {HostHome: "/", Private: "/tmp/x"}, {HostHome: "/tmp", Private: "rel"}} {
		if _, _, err := MirrorIn(a, places, Agreed{}); err == nil {
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
		s := sides{t, Places{HostHome: filepath.Join(dir, "h"), Private: filepath.Join(dir, "p")}, map[string]Agreed{}}
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
