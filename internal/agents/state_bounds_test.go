//go:build unix

package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// entries is an object of many logins of MCP servers.
func entries(n, size int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"server%d":{"accessToken":"%s"}`, i, strings.Repeat("x", size)))
	}
	return `{"mcpOAuth":{` + strings.Join(all, ",") + `}}`
}

// TestNobodyIsLockedOut: whatever one hostile run leaves in its login, the host's comes
// into the next workspace.
func TestNobodyIsLockedOut(t *testing.T) {
	deep := strings.Repeat(`{"x":`, 5) + `{"accessToken":"DEEP"}` + strings.Repeat(`}`, 5)
	for _, row := range []struct{ about, host, inside, not string }{
		{"many", `{"mcpOAuth":{"mine":{"accessToken":"m"}}}`, entries(5000, 10), `"server64"`},
		{"large", `{"mcpOAuth":{"mine":{"accessToken":"m"}}}`, entries(60, 15_000), "xxxx"},
		{"large, and nothing there", `{}`, entries(60, 15_000), "xxxx"},
		{"deep", `{"mcpOAuth":{"mine":{"accessToken":"m"}}}`, `{"mcpOAuth":{"mine":{"more":{"accessToken":"DEEP"}},"y":` + deep + `}}`, "DEEP"},
		{"deep in the login", `{"claudeAiOauth":{"accessToken":"a"}}`, `{"claudeAiOauth":{"accessToken":"b","y":{"accessToken":"DEEP"}}}`, "DEEP"},
		{"a prototype", `{"mcpOAuth":{}}`, `{"mcpOAuth":{"__proto__":{"accessToken":"e"},"constructor":{"accessToken":"e"},"prototype":{"accessToken":"e"},"ok":{"accessToken":"o"}}}`, "proto"},
		{"a long name", `{"mcpOAuth":{}}`, `{"mcpOAuth":{"` + strings.Repeat("n", 300) + `":{"accessToken":"e"}}}`, "nnn"},
		{"a name for a terminal", `{"mcpOAuth":{}}`, `{"mcpOAuth":{"a\u001b[2J":{"accessToken":"e"}}}`, "[2J"},
	} {
		s := newSides(t)
		s.host(loginFile, row.host)
		before, _ := s.in("claude")
		s.inside(loginFile, row.inside)
		s.out("claude", before)
		got := read(s.places.HostHome, loginFile)
		if strings.Contains(got, row.not) || len(got) > maxJSON/2 {
			t.Errorf("%s: the host has %d bytes: %.300s", row.about, len(got), got)
		}
		other := s
		other.places.Private, other.agreed = filepath.Join(t.TempDir(), "other"), map[string]Agreed{}
		other.in("claude")
		if now := read(other.places.Private, loginFile); row.host != "{}" && !sameJSON([]byte(now), []byte(got)) {
			t.Errorf("%s: the next workspace has %.100s", row.about, now)
		}
	}
}

// TestOtherProviders: of a file with an entry for each provider, the same.
func TestOtherProviders(t *testing.T) {
	s := newSides(t)
	const file = ".local/share/opencode/auth.json"
	s.host(file, `{"a":{"type":"api","key":"k"}}`)
	before, _ := s.in("opencode")
	var all []string
	for i := range 500 {
		all = append(all, fmt.Sprintf(`"p%d":{"type":"api","key":"k"}`, i))
	}
	s.inside(file, `{"__proto__":{"type":"api","key":"k"},`+strings.Join(all, ",")+`}`)
	s.out("opencode", before)
	got := read(s.places.HostHome, file)
	if strings.Contains(got, "__proto__") || strings.Count(got, `"api"`) > maxEntries || !strings.Contains(got, `"a"`) {
		t.Errorf("the host has %d: %.200s", strings.Count(got, `"api"`), got)
	}
}

// TestFileKeepsItsStyle: nothing grows by white space.
func TestFileKeepsItsStyle(t *testing.T) {
	for _, row := range []struct{ host, want string }{
		{`{"claudeAiOauth":{"accessToken":"a"}}`, `{"claudeAiOauth":{"accessToken":"b"}}`},
		{"{\n\t\"claudeAiOauth\": {\n\t\t\"accessToken\": \"a\"\n\t}\n}", "{\n\t\"claudeAiOauth\": {\n\t\t\"accessToken\": \"b\"\n\t}\n}"},
		{"{\n    \"claudeAiOauth\": {\n        \"accessToken\": \"a\"\n    }\n}", "{\n    \"claudeAiOauth\": {\n        \"accessToken\": \"b\"\n    }\n}"},
		{"", `{"claudeAiOauth":{"accessToken":"b"}}`},
	} {
		s := newSides(t)
		if row.host != "" {
			s.host(loginFile, row.host)
		}
		before, _ := s.in("claude")
		s.inside(loginFile, "{\n"+strings.Repeat(" ", 1000)+`"claudeAiOauth":{"accessToken":"b"}}`)
		s.out("claude", before)
		if got := strings.TrimSpace(read(s.places.HostHome, loginFile)); got != row.want {
			t.Errorf("of %q came %q", row.host, got)
		}
	}
}

// TestLeftTokens: what a killed run has left beside a login is removed, and nothing else.
func TestLeftTokens(t *testing.T) {
	s := newSides(t)
	s.host(loginFile, `{"claudeAiOauth":{"accessToken":"a"}}`)
	stale := []string{loginFile + ".123.carrel-tmp", ".claude.json.4.carrel-tmp"}
	kept := []string{loginFile + ".mine.carrel-tmp", loginFile + ".12", loginFile + "..carrel-tmp", ".claude/other.5.carrel-tmp"}
	for _, name := range append(stale, kept...) {
		s.host(name, "tokens")
	}
	s.in("claude")
	for _, name := range stale {
		if _, err := os.Lstat(filepath.Join(s.places.HostHome, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	for _, name := range kept {
		if read(s.places.HostHome, name) != "tokens" {
			t.Errorf("%s is gone", name)
		}
	}
}
