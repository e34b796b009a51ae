//go:build unix

package agents

import "testing"

// TestDropLogins: after a run the copy has no token that is the host's too, and the next
// start brings all of them in again. What only the copy has stays.
func TestDropLogins(t *testing.T) {
	const claude, parts = ".claude/.credentials.json", ".claude/.claude.json"
	for _, row := range []struct {
		name, agent, file  string
		host, inside, want string // inside is written after the start, "" for nothing; want "-" for no file
	}{
		{"the host's", "claude", claude, `{"claudeAiOauth":{"refreshToken":"r"}}`, "", "-"},
		{"changed since", "claude", claude, `{"claudeAiOauth":{"refreshToken":"r"}}`,
			`{"claudeAiOauth":{"refreshToken":"n"}}`, `{"claudeAiOauth":{"refreshToken":"n"}}`},
		{"beside what is no login", "claude", claude, `{"claudeAiOauth":{"refreshToken":"r"}}`,
			`{"claudeAiOauth":{"refreshToken":"r"},"other":1}`, "{\"other\":1}\n"},
		{"made inside", "claude", claude, "", `{"mcpOAuth":{"s":{"accessToken":"t"}}}`, `{"mcpOAuth":{"s":{"accessToken":"t"}}}`},
		{"broken", "claude", claude, `{"claudeAiOauth":{"refreshToken":"r"}}`, `{"claudeAiOauth":{"refresh`, "-"},
		{"servers with keys", "claude", ".claude.json", `{"mcpServers":{"s":{"env":{"KEY":"k"}}},"theme":"dark"}`, "", "{\"theme\":\"dark\"}\n"},
		{"a whole file", "codex", ".codex/auth.json", `{"tokens":{"refresh_token":"r"}}`, "", "-"},
		{"one of two providers", "opencode", ".local/share/opencode/auth.json", `{"a":{"type":"oauth","refresh":"r"}}`,
			`{"a":{"type":"oauth","refresh":"r"},"b":{"type":"wellknown","key":"K","token":"t"}}`,
			`{"b":{"type":"wellknown","key":"K","token":"t"}}` + "\n"},
		{"settings with a key", "aider", ".aider.conf.yml", "openai-api-key: k\n", "", "-"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, place := newSides(t), row.file
			if place == ".claude.json" {
				place = parts
			}
			if row.host != "" {
				s.host(row.file, row.host)
			}
			agreed, _ := s.in(row.agent)
			started := read(s.places.Private, place)
			if row.inside != "" {
				s.inside(place, row.inside)
			}
			a, _ := ByName(row.agent)
			for range 2 { // the second changes nothing
				if err := DropLogins(a, s.places, agreed); err != nil {
					t.Fatal(err)
				}
				s.wantInside(place, row.want)
			}
			if row.inside == "" && row.want == "-" {
				s.in(row.agent)
				s.wantInside(place, started)
			}
		})
	}
}
