package ownfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpen: what is no plain file of one name is refused, and not waited for.
func TestOpen(t *testing.T) {
	at := t.TempDir()
	dir, err := os.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	in := func(name string) string { return filepath.Join(at, name) }
	for _, err := range []error{
		os.WriteFile(in("plain"), []byte("x"), 0o600), os.WriteFile(in("one"), nil, 0o600), os.Link(in("one"), in("two")),
		os.Symlink("plain", in("link")), os.Mkdir(in("dir"), 0o700), unix.Mkfifo(in("pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, why := range map[string]string{"plain": "", "one": "has 2 links", "two": "has 2 links", "link": "too many levels", "dir": "not a regular file", "pipe": "not a regular file", "none": "no such file"} {
		f, err := Open(dir, name, os.O_RDONLY)
		if (err == nil) != (why == "") || err != nil && (!strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), in(name))) {
			t.Errorf("%s: %v, want %q", name, err, why)
		}
		if f, err = There(f, err); name == "none" && (f != nil || err != nil) {
			t.Errorf("nothing is there: %v %v", f, err)
		}
		Close(f)
	}
	a, err := Open(dir, "plain", os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := Open(dir, "plain", os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := TryLock(a); !got || err != nil {
		t.Errorf("the first lock: %v %v", got, err)
	}
	if got, err := TryLock(b); got || err != nil {
		t.Errorf("the second lock: %v %v", got, err)
	}
	if !Same(a, b) || Same(a, nil) || !Same(nil, nil) {
		t.Error("what is the same")
	}
	b.Close()
	if err := Rename(dir, "plain", "other"); err != nil {
		t.Error(err)
	}
	if err := Remove(dir, "other"); err != nil {
		t.Error(err)
	}
}
