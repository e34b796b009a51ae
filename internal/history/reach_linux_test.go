package history

import (
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
)

// TestDirectoryStaysOpen: the directory that stays open between changes is used for the one
// that a change has pinned, whatever another program has moved, and for no other.
func TestDirectoryStaysOpen(t *testing.T) {
	d := newDesk(t)
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	files := func(in string, names ...string) {
		t.Helper()
		for _, name := range names {
			do(os.WriteFile(d.at(in+"/"+name), []byte(in+name), 0o600))
		}
	}
	do(os.Mkdir(d.at("d"), 0o700))
	do(os.Mkdir(d.at("other"), 0o700))
	files("d", "a", "b", "c")
	files("other", "b", "c")
	d.begin(t)
	remove := func(dir, name string) {
		t.Helper()
		fd, err := unix.Open(d.at(dir), unix.O_PATH|unix.O_CLOEXEC, 0)
		do(err)
		defer unix.Close(fd)
		st, err := disk.StateAt(fd, "", 0)
		do(err)
		c := Change{Op: Remove, Path: d.at(dir + "/" + name), Dir: fd, Name: name, In: journal.ID{Dev: st.ID.Dev, Ino: st.ID.Ino}}
		do(d.w.Before(&c))
		err = unix.Unlinkat(fd, name, 0)
		d.w.After(&c, err)
		do(err)
	}
	stays := func(dir string) {
		t.Helper()
		st, err := disk.StateAt(d.w.lastDir.fd, "", 0)
		do(err)
		if now, err := disk.StateAt(unix.AT_FDCWD, d.at(dir), 0); err != nil || now.ID != st.ID {
			t.Errorf("another directory than %q is open: %v", dir, err)
		}
	}
	remove("d", "a")
	stays("d")
	first := d.w.lastDir
	remove("d", "b")
	if d.w.lastDir != first {
		t.Error("it was opened again")
	}
	do(unix.Renameat2(unix.AT_FDCWD, d.at("d"), unix.AT_FDCWD, d.at("other"), unix.RENAME_EXCHANGE))
	remove("d", "c") // of the one that has come here
	stays("d")
	d.end(t)
	if d.w.lastDir != nil {
		t.Error("it stays open after the step")
	}
	d.close(t)

	l := d.read(t)
	for name, want := range map[string]string{"a": "da", "b": "db", "c": "otherc"} {
		before, _, err := d.store.Contents(l, l.Steps[0], d.at("d/"+name))
		do(err)
		text, err := io.ReadAll(before)
		do(err)
		before.Close()
		if string(text) != want {
			t.Errorf("%s was kept as %q, want %q", name, text, want)
		}
	}
}
