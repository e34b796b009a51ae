package agents

import "testing"

func TestHearsUsage(t *testing.T) {
	for host, want := range map[string]bool{
		"sentry.io": true, "o1.ingest.sentry.io": true, "statsig.anthropic.com": true, "downloads.claude.ai": true, "claude.ai": false,
		"notsentry.io": false, "sentry.io.example.com": false, "api.anthropic.com": false, "": false,
	} {
		if got := HearsUsage(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}
