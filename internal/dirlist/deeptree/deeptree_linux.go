package deeptree

import (
	"os"
	"runtime"
	"testing"

	"carrel/internal/dirlist"

	"golang.org/x/sys/unix"
)

// AsOrdinary does something with the rights of an ordinary user, to whom a directory may
// be closed, in a directory of theirs.
func AsOrdinary(t *testing.T, do func(dir string)) {
	t.Helper()
	dir, err := os.MkdirTemp("", "carrel-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := dirlist.RemoveTree(dir); err != nil {
			t.Error(err)
		}
	}()
	done := make(chan struct{})
	go func() { // on a thread that ends with it
		defer close(done)
		runtime.LockOSThread()
		if os.Getuid() == 0 {
			const uid = 4242
			if err := os.Chown(dir, uid, uid); err != nil {
				t.Error(err)
				return
			}
			_, _ = unix.SetfsgidRetGid(uid)
			_, _ = unix.SetfsuidRetUid(uid)
		}
		do(dir)
	}()
	<-done
}

// Make makes directories in each other, as deep as no path reaches, and gives those at
// some depths to be changed.
func Make(t *testing.T, dir string, deep int, at func(depth, fd int)) {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for i := 0; err == nil && i < deep; i++ {
		if err = unix.Mkdirat(fd, "d", 0o700); err != nil {
			break
		}
		next := -1
		next, err = unix.Openat(fd, "d", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		unix.Close(fd)
		fd = next
		at(i, fd)
	}
	unix.Close(fd)
	if err != nil {
		t.Error(err)
	}
}
