package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOurEntries: an entry is ours by the words that start it, also where the program has
// moved, and is the user's where it says anything more.
func TestOurEntries(t *testing.T) {
	c, err := named("claude")
	if err != nil {
		t.Fatal(err)
	}
	for words, want := range map[string]bool{
		"/usr/bin/carrel mcp --client claude":                       true,
		"/elsewhere/carrel mcp --client claude":                     true,
		"/opt/mine mcp --client claude":                             true, // the program's name now
		"/usr/bin/carrel mcp --client claude --permissions /c.json": true,
		"/usr/bin/other mcp --client claude":                        false,
		"carrel mcp --client claude":                                false, // of any directory
		"/usr/bin/carrel mcp --client codex":                        false,
		"/usr/bin/carrel mcp":                                       false,
		"/usr/bin/carrel mcp --client claude --verbose":             false,
		"/usr/bin/carrel mcp --client claude --permissions":         false,
		"/usr/bin/carrel mcp --client claude --permissions a b":     false,
		"/usr/bin/carrel run --client claude":                       false,
		"":                                                          false,
	} {
		if got := (entry{words: strings.Fields(words), there: true}).ours(c, "/opt/mine", ""); got != want {
			t.Errorf("%q: %v", words, got)
		}
		if (entry{words: strings.Fields(words), there: true, more: true}).ours(c, "/opt/mine") {
			t.Errorf("%q with more is ours", words)
		}
	}
}

// TestLeasesOfOthers: what a server that is gone has left is removed, and what no server of
// ours has written is neither believed nor touched.
func TestLeasesOfOthers(t *testing.T) {
	h := newPlace(t.TempDir()).host
	if live, stale, err := h.leases(); live != nil || stale != nil || err != nil {
		t.Errorf("before the first: %v, %v, %v", live, stale, err)
	}
	l, err := h.Serve("claude")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	at := filepath.Join(h.State, leaseDir)
	left := filepath.Join(at, "claude-1-GONE")
	if err := os.WriteFile(left, []byte(`{"client":"codex"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(at, "directory"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(left, filepath.Join(at, "link")); err != nil {
		t.Fatal(err)
	}
	live, stale, err := h.leases()
	if err != nil || len(live) != 1 || live[0].Client != "claude" || live[0].Server != os.Getpid() || len(stale) != 1 {
		t.Errorf("%+v, %q, %v", live, stale, err)
	}
	for client, want := range map[string]bool{"claude": true, "codex": false} {
		if got, err := h.served(client); got != want || err != nil {
			t.Errorf("%s: served %v, %v", client, got, err)
		}
	}
	if n, err := h.sweepLeases(); n != 1 || err != nil {
		t.Errorf("%d removed, %v", n, err)
	}
	entries, err := os.ReadDir(at)
	if err != nil || len(entries) != 3 {
		t.Errorf("%v, %v", entries, err)
	}
	l.Release()
	if got, err := h.served("claude"); got || err != nil {
		t.Errorf("after its end: %v, %v", got, err)
	}
	if _, err := h.Serve("nobody"); err == nil {
		t.Error("a lease for a client that is not known")
	}
}
