package dirlist

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNext: every name comes once, however many there are.
func TestNext(t *testing.T) {
	dir := t.TempDir()
	const many = 700 // more than are read at once
	for i := range many {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fd, st, err := Look(unix.AT_FDCWD, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		t.Errorf("mode %o", st.Mode)
	}
	l, err := List(fd, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Dir.Close()
	seen := make(map[string]bool)
	for {
		name, err := l.Next()
		if err == io.EOF {
			break
		}
		if err != nil || seen[name] {
			t.Fatalf("%q, %v", name, err)
		}
		seen[name] = true
	}
	if len(seen) != many {
		t.Errorf("%d names of %d", len(seen), many)
	}
}

// TestUnclose: a directory of mode 0 is held, opened up to its user, and listed. What is no
// directory is not held.
func TestUnclose(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "d")
	if err := os.Mkdir(dir, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	if err := os.Symlink("d", filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Open(top, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(at)
	if fd, _, err := Look(at, "link"); err == nil {
		unix.Close(fd)
		t.Error("a link was followed")
	}
	fd, st, err := Look(at, "d")
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := Unclose(fd, &st); err != nil {
		t.Fatal(err)
	}
	if now, err := os.Stat(dir); err != nil || now.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", now.Mode(), err)
	}
	l, err := List(fd, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Dir.Close()
	if _, err := l.Next(); err != io.EOF {
		t.Errorf("an empty one: %v", err)
	}
}
