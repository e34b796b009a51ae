package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAddHost: whatever form the file has, the host is in its list afterwards,
// once, and everything else reads as before.
func TestAddHost(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "network: {allow_hosts: [a.example:443]}",
		"# mine\n":                           "# mine network: allow_hosts: [a.example:443]",
		"network: filtered # on\n":           "network: mode: filtered # on allow_hosts: [a.example:443]",
		"network:\n  mode: open\nhome: full": "network: mode: open allow_hosts: [a.example:443] home: full",
		"network:\n  allow_hosts:\n    - b.example # why\nhome: full\n": "network: allow_hosts: - b.example # why - a.example:443 home: full",
		"network: {allow_hosts: [a.example:443]}\n":                     "network: {allow_hosts: [a.example:443]}",
	} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := AddHost(file, false, "a.example:443"); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
		got, _ := os.ReadFile(file)
		squeeze := func(s string) string {
			return strings.NewReplacer("{", "", "}", "", `"`, "", "'", "").Replace(strings.Join(strings.Fields(s), " "))
		}
		if squeeze(string(got)) != squeeze(want) {
			t.Errorf("%q became\n%s\nwant %s", text, got, want)
		}
	}
}

func TestAddHostRefuses(t *testing.T) {
	for _, text := range []string{"network: [open]", "netwrk: closed"} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := AddHost(file, false, "a.example"); err == nil {
			t.Errorf("%q was edited", text)
		}
		if got, _ := os.ReadFile(file); string(got) != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
