package dirlist_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"carrel/internal/dirlist"
	"carrel/internal/dirlist/deeptree"

	"golang.org/x/sys/unix"
)

// TestRemoveTree: what a command has left goes, however deep it is and whatever of it is
// closed, in a time that is no more than its size asks for.
func TestRemoveTree(t *testing.T) {
	deeptree.AsOrdinary(t, func(dir string) {
		var closed []int
		deeptree.Make(t, dir, 5000, func(depth, fd int) {
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
		if err := dirlist.RemoveTree(dir + "/d"); err != nil {
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
