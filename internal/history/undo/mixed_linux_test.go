package undo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMixed: what an interrupted rewrite may leave is told from what another program
// has written.
func TestMixed(t *testing.T) {
	before, after := strings.Repeat("before", 20_000), strings.Repeat("after!?", 10_000)
	zeros := strings.Repeat("\x00", len(before))
	for _, c := range []struct {
		name, is string
		own      bool
	}{
		{"the former content", before, true},
		{"the new one", after, true},
		{"nothing", "", true},
		{"nothing on the disk yet", zeros, true},
		{"a part of the new one", after[:65_000] + zeros[:len(after)-65_000], true},
		{"a part of the new one, with the former length", after[:65_000] + before[65_000:], true},
		{"as much of the new one as there was room for", after[:65_000], true},
		{"as much of the former one", before[:8192], true},
		{"a part of it and an edit", before[:8188] + "edit", false},
		{"a part and an edit", after[:65_000] + "edit" + zeros[:len(after)-65_004], false},
		{"an edit at the end", zeros[:len(before)-4] + "edit", false},
		{"appended to", after + "edit", false},
		{"appended to nothing", "edit", false},
	} {
		dir := t.TempDir()
		open := func(name, text string) *os.File {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			return f
		}
		own, err := mixed(open("is", c.is), open("before", before), open("after", after))
		if err != nil || own != c.own {
			t.Errorf("%s: %v, %v", c.name, own, err)
		}
	}
}
