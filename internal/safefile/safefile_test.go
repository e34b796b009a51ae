package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReplace: the new bytes are there with their mode, a link is replaced and not
// followed, what was open keeps its bytes, and nothing is left beside.
func TestReplace(t *testing.T) {
	at := t.TempDir()
	file, victim := filepath.Join(at, "file"), filepath.Join(at, "victim")
	if err := errors.Join(os.WriteFile(victim, []byte("old"), 0o644), os.Symlink(victim, file)); err != nil {
		t.Fatal(err)
	}
	if err := Write(file, []byte("one"), Options{}); err != nil {
		t.Fatal(err)
	}
	was, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer was.Close()
	if err := Write(file, []byte("two"), Options{Temp: ".new", Mode: 0o640}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(file)
	if err != nil || info.Mode() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for name, want := range map[string]string{file: "two", victim: "old"} {
		if got, err := os.ReadFile(name); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	old := make([]byte, 10)
	if n, _ := was.Read(old); string(old[:n]) != "one" {
		t.Errorf("who had it open reads %q", old[:n])
	}
	only(t, at, "file", "victim")
}

// TestWhatAKilledWriterLeft: with a name that one writer at a time has, it is removed and
// never followed.
func TestWhatAKilledWriterLeft(t *testing.T) {
	at := t.TempDir()
	victim := filepath.Join(at, "victim")
	if err := errors.Join(os.WriteFile(victim, []byte("old"), 0o600), os.Symlink(victim, filepath.Join(at, ".new"))); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(at, "file"), []byte("x"), Options{Temp: ".new"}); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(victim); string(got) != "old" {
		t.Errorf("the link was followed: %q", got)
	}
	only(t, at, "file", "victim")
}

// TestErrors: where it cannot be done the old file is as it was, nothing is left beside,
// and the error names the step and the file.
func TestErrors(t *testing.T) {
	at := t.TempDir()
	if err := os.MkdirAll(filepath.Join(at, "dir", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(at, "dir"), []byte("x"), Options{}); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("replacing %q: ", filepath.Join(at, "dir"))) {
		t.Errorf("over a directory: %v", err)
	}
	if err := Write(filepath.Join(at, "none", "file"), nil, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a directory: %v", err)
	}
	root, err := os.OpenRoot(at)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	n, err := Create(root, "file", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	n.Discard()
	n.Discard()
	only(t, at, "dir")
}

func only(t *testing.T, at string, want ...string) {
	t.Helper()
	list, err := os.ReadDir(at)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("there is %q, want %q", got, want)
	}
}
