package dirlist

import (
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// asOrdinary does something with the rights of an ordinary user, to whom a directory may
// be closed, in a directory of theirs.
func asOrdinary(t *testing.T, do func(dir string)) {
	t.Helper()
	dir, err := os.MkdirTemp("", "carrel-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := RemoveTree(dir); err != nil {
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

// nest makes directories in each other, as deep as no path reaches, and gives those at
// some depths to be changed.
func nest(t *testing.T, dir string, deep int, at func(depth, fd int)) {
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

// TestRemoveTree: what a command has left goes, however deep it is and whatever of it is
// closed, in a time that is no more than its size asks for.
func TestRemoveTree(t *testing.T) {
	asOrdinary(t, func(dir string) {
		var closed []int
		nest(t, dir, 5000, func(depth, fd int) {
			if err := unix.Symlinkat("/etc/passwd", fd, "link"); err != nil {
				t.Error(err)
			}
			if depth%1250 == 1249 {
				again, _ := unix.Openat(fd, ".", unix.O_PATH|unix.O_CLOEXEC, 0)
				closed = append(closed, again)
			}
		})
		for _, fd := range closed {
			if err := os.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0); err != nil {
				t.Error(err)
			}
			unix.Close(fd)
		}
		if _, err := os.ReadDir(dir + "/d"); err != nil {
			t.Error(err)
		}
		begin := time.Now()
		if err := RemoveTree(dir + "/d"); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(dir + "/d"); err == nil {
			t.Error("it is still there")
		}
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}
