package container

import (
	"os"
	"testing"
)

// TestTerminfo: a description of this host's is found, and no other file by a name that leads away.
func TestTerminfo(t *testing.T) {
	for name, known := range map[string]bool{"": true, "xterm": true, "a/b": true, "..": true, "xterm-kitty": false} {
		if KnowsTerminal(name) != known {
			t.Errorf("%q: want %v", name, known)
		}
	}
	dir := t.TempDir()
	before := terminfoDirs
	terminfoDirs = []string{dir + "/none", dir}
	defer func() { terminfoDirs = before }()
	if err := os.MkdirAll(dir+"/x", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/x/xterm-own", []byte("\x1a\x01own"), 0o600); err != nil {
		t.Fatal(err)
	}
	if at, data := Terminfo("xterm-own"); at != TerminfoDir+"/x/xterm-own" || string(data) != "\x1a\x01own" {
		t.Errorf("%q %q", at, data)
	}
	if _, data := Terminfo("xterm-other"); data != nil {
		t.Errorf("%q", data)
	}
}
