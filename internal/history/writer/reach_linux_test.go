package writer

import (
	"io"
	"os"
	"testing"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// TestDirectoryStaysOpen: the directory that stays open between changes is used for the one
// that a change has pinned, whatever another program has moved, and for no other.
func TestDirectoryStaysOpen(t *testing.T) {
	d := NewDesk(t)
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	files := func(in string, names ...string) {
		t.Helper()
		for _, name := range names {
			do(os.WriteFile(d.At(in+"/"+name), []byte(in+name), 0o600))
		}
	}
	do(os.Mkdir(d.At("d"), 0o700))
	do(os.Mkdir(d.At("other"), 0o700))
	files("d", "a", "b", "c")
	files("other", "b", "c")
	remove := func(dir, name string) {
		t.Helper()
		fd, err := unix.Open(d.At(dir), unix.O_PATH|unix.O_CLOEXEC, 0)
		do(err)
		defer unix.Close(fd)
		st, err := disk.StateAt(fd, "", 0)
		do(err)
		c := Change{Op: Remove, Path: d.At(dir + "/" + name), Dir: fd, Name: name, In: journal.ID{Dev: st.ID.Dev, Ino: st.ID.Ino}}
		do(d.W.Before(&c))
		err = unix.Unlinkat(fd, name, 0)
		d.W.After(&c, err)
		do(err)
	}
	stays := func(dir string) {
		t.Helper()
		st, err := disk.StateAt(d.W.lastDir.fd, "", 0)
		do(err)
		if now, err := disk.StateAt(unix.AT_FDCWD, d.At(dir), 0); err != nil || now.ID != st.ID {
			t.Errorf("another directory than %q is open: %v", dir, err)
		}
	}
	remove("d", "a")
	stays("d")
	first := d.W.lastDir
	remove("d", "b")
	if d.W.lastDir != first {
		t.Error("it was opened again")
	}
	do(unix.Renameat2(unix.AT_FDCWD, d.At("d"), unix.AT_FDCWD, d.At("other"), unix.RENAME_EXCHANGE))
	remove("d", "c") // of the one that has come here
	stays("d")
	if _, err := d.W.End(0, nil); err != nil {
		t.Fatal(err)
	}
	if d.W.lastDir != nil {
		t.Error("it stays open after the step")
	}
	l := d.Over(t)
	for name, want := range map[string]string{"a": "da", "b": "db", "c": "otherc"} {
		before, _, err := d.Store.Contents(l, l.Steps[0], d.At("d/"+name))
		do(err)
		text, err := io.ReadAll(before)
		do(err)
		before.Close()
		if string(text) != want {
			t.Errorf("%s was kept as %q, want %q", name, text, want)
		}
	}
}
