package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestPin: of a file its directory is opened, and no other name of that is served; what lies in a
// place that is served already is found there.
func TestPin(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/p/sub", "/notes"} {
		if err := os.MkdirAll(dir+path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/one", "/two", "/notes/n"} {
		if err := os.WriteFile(dir+path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots, at, err := pin([]Place{{dir + "/p", dir + "/p"}, {dir + "/notes/n", "/mnt/n"}, {dir + "/one", dir + "/one"},
		{dir + "/p/sub", "/mnt/sub"}, {dir + "/two", "/mnt/two"}})
	defer closeRoots(roots)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, r := range roots {
		got += fmt.Sprintf("%s%v ", r.Path[len(dir):], r.Names)
	}
	for _, p := range at {
		got += p.From + " "
		st, err := os.Stat(dir + map[string]string{"0": "/p", "1/n": "/notes/n", "2/one": "/one", "0/sub": "/p/sub", "2/two": "/two"}[p.From])
		if err != nil || st.Sys().(*syscall.Stat_t).Ino != p.Inode {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if got != "/p[] /notes[n] [one two] 0 1/n 2/one 0/sub 2/two " {
		t.Error(got)
	}
	roots, _, err = pin([]Place{{dir + "/absent", "/x"}})
	closeRoots(roots)
	if err == nil {
		t.Error("a place that is not there was opened")
	}
}
