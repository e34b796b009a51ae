//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// race changes names while calls with them are in flight: some threads exchange
// a directory of ours with a symlink to a forbidden one, and bytes of a path in
// memory; others write, create, rename, remove by that path. Whoever runs it
// looks at the forbidden directories afterwards. It is harmless where those
// cannot be written; it is not for use without walls.
func race(w io.Writer, dir, seconds string, forbidden []string) error {
	if os.Getenv("CARREL") != "1" {
		return errors.New("race is for use behind walls: outside, it would write where it should not")
	}
	n, err := strconv.Atoi(seconds)
	if err != nil {
		return err
	}
	if len(forbidden) == 0 {
		forbidden = []string{"/usr", "/etc"}
	}
	end := time.Now().Add(time.Duration(n) * time.Second)
	var all sync.WaitGroup
	var calls atomic.Int64
	for i, target := range forbidden {
		base := fmt.Sprintf("%s/race%d", dir, i)
		if err := errors.Join(os.MkdirAll(base+"/real", 0o755), os.MkdirAll(base+"/swap", 0o755), os.Symlink(target, base+"/link")); err != nil {
			return err
		}
		all.Go(func() {
			for time.Now().Before(end) {
				_ = unix.Renameat2(unix.AT_FDCWD, base+"/swap", unix.AT_FDCWD, base+"/link", unix.RENAME_EXCHANGE)
			}
		})
		all.Go(func() { calls.Add(through(base+"/swap/", end)) })
		all.Go(func() { calls.Add(inMemory(base+"/real/", target+"/", end)) })
	}
	all.Wait()
	_, err = fmt.Fprintf(w, "raced\n%v calls\n", calls.Load() > 0)
	return err
}

// through works with names below a directory that others replace.
func through(dir string, end time.Time) (calls int64) {
	for time.Now().Before(end) {
		change(dir+"victim", dir+"other")
		calls++
	}
	return calls
}

// change does everything that a forbidden directory must not see.
func change(name, other string) {
	if fd, err := unix.Open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o600); err == nil {
		_, _ = unix.Write(fd, []byte("EVIL"))
		_ = unix.Fchmod(fd, 0o666)
		_ = unix.Close(fd)
	}
	_ = unix.Chmod(name, 0o777)
	_ = unix.Truncate(name, 0)
	_ = unix.Setxattr(name, "user.evil", []byte("x"), 0)
	_ = unix.Rename(name, other)
	_ = unix.Link(other, name)
	_ = unix.Unlink(other)
	_ = unix.Mkdir(other, 0o755)
	_ = unix.Rmdir(other)
	_ = unix.Symlink("x", other)
	_ = unix.Unlink(other)
	_ = unix.Unlink(name)
}

// inMemory uses one piece of memory for the path, which another thread changes
// between a name of ours and a forbidden one of the same length.
func inMemory(ours, forbidden string, end time.Time) (calls int64) {
	for len(ours) < len(forbidden) {
		ours += "/"
	}
	for len(forbidden) < len(ours) {
		forbidden += "/"
	}
	names := [2][]byte{[]byte(ours + "victim\x00"), []byte(forbidden + "victim\x00")}
	shared, err := unix.Mmap(-1, 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return 0
	}
	copy(shared, names[0])
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for i := 0; time.Now().Before(end); i++ {
			copy(shared, names[i%2])
		}
	})
	at := uintptr(unsafe.Pointer(&shared[0]))
	cwd := ^uintptr(99)
	for time.Now().Before(end) {
		fd, _, e := unix.Syscall6(unix.SYS_OPENAT, cwd, at, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600, 0, 0)
		if e == 0 {
			_, _ = unix.Write(int(fd), []byte("EVIL"))
			_ = unix.Close(int(fd))
		}
		_, _, _ = unix.Syscall6(unix.SYS_FCHMODAT, cwd, at, 0o777, 0, 0, 0)
		_, _, _ = unix.Syscall6(unix.SYS_UNLINKAT, cwd, at, 0, 0, 0, 0)
		_, _, _ = unix.Syscall6(unix.SYS_MKDIRAT, cwd, at, 0o755, 0, 0, 0)
		_, _, _ = unix.Syscall6(unix.SYS_UNLINKAT, cwd, at, unix.AT_REMOVEDIR, 0, 0, 0)
		calls++
	}
	swapping.Wait()
	return calls
}
