//go:build unix

package settings

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPlace: the last moment, when somebody makes the file after our last look.
func TestPlace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "settings.json")
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, text := range map[string]string{"new": "ours", "settings.json": "theirs"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err = f.place("new")
	if got, _ := os.ReadFile(path); err != ErrChanged || string(got) != "theirs" {
		t.Errorf("got %v, %q", err, got)
	}
}
