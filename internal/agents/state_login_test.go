//go:build unix

package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestFirstLogin: a login that is made inside is the host's afterwards, and
// another project's at its next start; what is no part of a login goes nowhere.
func TestFirstLogin(t *testing.T) {
	for _, row := range []struct{ agent, file, private, inside, want string }{
		{"claude", ".claude/.credentials.json", "",
			`{"claudeAiOauth":{"accessToken":"a","refreshToken":"r","expiresAt":5,"scopes":["user:inference"],"subscriptionType":"max","hook":"id"},"helper":"id"}`,
			`{"claudeAiOauth":{"accessToken":"a","expiresAt":5,"refreshToken":"r","scopes":["user:inference"],"subscriptionType":"max"}}`},
		{"claude", ".claude.json", ".claude/.claude.json",
			`{"oauthAccount":{"emailAddress":"a@b","x":{"command":"id"}},"hasCompletedOnboarding":true,"mcpServers":{"e":{"command":"id"}},"projects":{}}`,
			`{"hasCompletedOnboarding":true,"oauthAccount":{"emailAddress":"a@b"}}`},
		{"codex", ".codex/auth.json", "",
			`{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"tokens":{"id_token":"i","access_token":"a","refresh_token":"r","account_id":"n"},"last_refresh":"2026-01-01T00:00:00Z","run":"id"}`,
			`{"auth_mode":"chatgpt","last_refresh":"2026-01-01T00:00:00Z","tokens":{"access_token":"a","account_id":"n","id_token":"i","refresh_token":"r"}}`},
		{"gemini", ".gemini/oauth_creds.json", "",
			`{"access_token":"a","refresh_token":"r","scope":"x y","token_type":"Bearer","id_token":"i","expiry_date":9,"token_uri":"https://evil"}`,
			`{"access_token":"a","expiry_date":9,"id_token":"i","refresh_token":"r","scope":"x y","token_type":"Bearer"}`},
		{"gemini", ".gemini/gemini-credentials.json", "", "iv:tag:sealed", "iv:tag:sealed"},
		{"opencode", ".local/share/opencode/auth.json", "",
			`{"anthropic":{"type":"oauth","access":"a","refresh":"r","expires":7},"openai":{"type":"api","key":"k"},"https://evil":{"type":"wellknown","key":"NODE_OPTIONS","token":"t"},"odd":{"key":"k"}}`,
			`{"anthropic":{"access":"a","expires":7,"refresh":"r","type":"oauth"},"openai":{"key":"k","type":"api"}}`},
		{"pi", ".pi/agent/auth.json", "", `{"anthropic":{"type":"oauth","access":"a","refresh":"r","expires":7},"openai":{"type":"api_key","key":"HOME"},"x":{"type":"oauth","access":"!id"}}`,
			`{"anthropic":{"access":"a","expires":7,"refresh":"r","type":"oauth"},"x":{"type":"oauth"}}`},
		{"amp", ".local/share/amp/secrets.json", "", `{"apiKey@x":"k"}`, `{"apiKey@x":"k"}`},
	} {
		t.Run(row.agent+" "+row.file, func(t *testing.T) {
			s := newSides(t)
			before, _ := s.in(row.agent)
			place := row.file
			if row.private != "" {
				place = row.private
			}
			s.inside(place, row.inside)
			wantNote(t, s.out(row.agent, before), "made inside")
			got := read(s.places.HostHome, row.file)
			if got != row.want && !sameJSON([]byte(got), []byte(row.want)) {
				t.Errorf("the host has %q, want %q", got, row.want)
			}
			if info, err := os.Stat(filepath.Join(s.places.HostHome, filepath.Dir(row.file))); err != nil || filepath.Dir(row.file) != "." && info.Mode().Perm() != 0o700 {
				t.Errorf("its directory: %v, %v", info, err)
			}
			other := s
			other.places.Private, other.agreed = filepath.Join(t.TempDir(), "other"), map[string]Agreed{}
			other.in(row.agent)
			if got := read(other.places.Private, place); got != row.want && !sameJSON([]byte(got), []byte(row.want)) {
				t.Errorf("another project has %q", got)
			}
			if notes := s.out(row.agent, s.agreed[row.agent]); len(notes) > 0 {
				t.Errorf("nothing happened, and it notes %v", notes)
			}
		})
	}
}

// Two workspaces renew in turn, with tokens that work once: what one has renewed
// reaches the host and the other before that comes with the old one.
func TestParallelRenewals(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		home := filepath.Join(dir, "home")
		var all []sides
		newest := 1
		token := func(n int) string {
			return fmt.Sprintf(`{"claudeAiOauth":{"refreshToken":"r%d","expiresAt":%d}}`, n, n)
		}
		for _, name := range []string{"a", "b", "c"} {
			all = append(all, sides{t, Places{HostHome: home, Private: filepath.Join(dir, name)}, map[string]Agreed{}})
		}
		all[0].host(loginFile, token(newest))
		for _, s := range all {
			s.in("claude")
		}
		for range rapid.IntRange(1, 4).Draw(rt, "steps") {
			who := rapid.IntRange(0, len(all)).Draw(rt, "who")
			newest++
			if who == len(all) {
				all[0].host(loginFile, token(newest))
			} else {
				all[who].inside(loginFile, token(newest))
			}
			switch { // each is told at once, in whatever order, or one ends and starts anew
			case rapid.Bool().Draw(rt, "restart"):
				all[rapid.IntRange(0, len(all)-1).Draw(rt, "which")].in("claude")
			}
			for range 2 {
				for _, i := range rapid.Permutation([]int{0, 1, 2}).Draw(rt, "order") {
					all[i].out("claude", all[i].agreed["claude"])
				}
			}
			for i, s := range all {
				if got := read(s.places.Private, loginFile); !strings.Contains(got, fmt.Sprintf(`"r%d"`, newest)) {
					rt.Fatalf("workspace %d has %q, the newest is %d", i, got, newest)
				}
			}
			if got := read(home, loginFile); !strings.Contains(got, fmt.Sprintf(`"r%d"`, newest)) {
				rt.Fatalf("the host has %q, the newest is %d", got, newest)
			}
		}
	})
}

// Both have renewed before either was looked at: the one that is valid longer wins.
func TestNewestLoginWins(t *testing.T) {
	for _, row := range []struct{ inside, meanwhile, want string }{
		{`{"claudeAiOauth":{"refreshToken":"i","expiresAt":30}}`, `{"claudeAiOauth":{"refreshToken":"o","expiresAt":20}}`, "i"},
		{`{"claudeAiOauth":{"refreshToken":"i","expiresAt":20}}`, `{"claudeAiOauth":{"refreshToken":"o","expiresAt":30}}`, "o"},
		{`{"claudeAiOauth":{"refreshToken":"i","expiresAt":"soon"}}`, `{"claudeAiOauth":{"refreshToken":"o","expiresAt":30}}`, "o"},
		{`{"claudeAiOauth":{"refreshToken":"i","expiresAt":1e300}}`, `{"claudeAiOauth":{"refreshToken":"o","expiresAt":30}}`, "o"},
		{`{}`, `{"claudeAiOauth":{"refreshToken":"o","expiresAt":30}}`, "o"}, // refused, and logged out
	} {
		s := newSides(t)
		s.host(loginFile, `{"claudeAiOauth":{"refreshToken":"r","expiresAt":10}}`)
		before, _ := s.in("claude")
		s.inside(loginFile, row.inside)
		s.host(loginFile, row.meanwhile)
		s.out("claude", before)
		for side, text := range map[string]string{"the host": read(s.places.HostHome, loginFile), "the copy": read(s.places.Private, loginFile)} {
			if !strings.Contains(text, `"`+row.want+`"`) {
				t.Errorf("%+v: %s has %s", row, side, text)
			}
		}
	}
}

// Whatever is inside, a login that goes out holds nothing but what belongs to one.
func FuzzRenewed(f *testing.F) {
	f.Add(`{"a":{"type":"oauth","access":"x"}}`, `{"a":{"type":"wellknown","access":"!id"},"b":{"type":"api","key":"$(id)"}}`)
	f.Add(``, `{"a":{"type":"oauth","access":"x","deep":{"deep":{"type":"oauth","refresh":"y"}}}}`)
	f.Add(`{"a":1}`, `{"a":[1]}`)
	f.Fuzz(func(t *testing.T, host, inside string) {
		m := MergeFile{Keys: []string{whole}, Login: []string{"type", "key"}, Kinds: []string{"oauth", "api"}}
		var was object
		if host != "" {
			if o, err := parseObject([]byte(host)); err != nil || len(o) != 1 {
				return
			} else {
				was = o
			}
		}
		got := m.renewed("a", was["a"], []byte(inside))
		if got == nil {
			return
		}
		for _, evil := range []string{"!id", "$(id)", "wellknown"} {
			if strings.Contains(string(got), evil) && !strings.Contains(host, evil) && !strings.Contains(evil, "wellknown") {
				t.Fatalf("%q goes out of %q", got, inside)
			}
		}
		v := parse(got)
		if v == nil {
			t.Fatalf("%q is no JSON", got)
		}
		if !onlyLogins(was["a"], got) {
			t.Fatalf("%q came out of %q and %q", got, host, inside)
		}
	})
}

// onlyLogins says whether all that is new in a value has a name that may be carried.
func onlyLogins(was, got []byte) bool {
	old, now := parse(was), parse(got)
	if now == nil || now.object == nil {
		return old != nil && sameJSON(was, got)
	}
	for key, value := range now.object {
		var before []byte
		if old != nil && old.object != nil {
			before = old.object[key]
		}
		v := parse(value)
		switch {
		case before != nil && sameJSON(before, value):
		case v != nil && v.object != nil:
			if !onlyLogins(before, value) {
				return false
			}
		case key != "type" && key != "key" && !isTokenName(key):
			return false
		}
	}
	return true
}

func isTokenName(key string) bool {
	for _, n := range tokenNames {
		if n == key {
			return true
		}
	}
	return false
}
