package hostsockets

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"carrel/internal/policy"
)

// TestHostSocketsThatWereRenamed: the kernel goes on telling the name that a
// socket was bound with, and a connection to the new one reaches it.
func TestHostSocketsThatWereRenamed(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "s") // names of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, name := range []string{"stays", "new"} {
		l, err := net.Listen("unix", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	moved := filepath.Join(dir, "moved")
	if err := os.Rename(filepath.Join(dir, "new"), moved); err != nil {
		t.Fatal(err)
	}
	shown := policy.Rule{Path: dir, Access: policy.Write, Source: policy.Source{Layer: policy.LayerCommandLine}}
	found := (&Search{Policy: &policy.Effective{Rules: []policy.Rule{shown}}}).All()
	for _, want := range []string{filepath.Join(dir, "stays"), moved} {
		if !slices.Contains(found, want) {
			t.Errorf("%s is not among %q", want, found)
		}
	}
	if found := (&Search{Policy: &policy.Effective{}}).All(); len(found) > 0 {
		t.Errorf("nothing is shown, and %q are found", found)
	}
}
