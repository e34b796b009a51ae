package sandbox

import (
	"fmt"
	"path"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// DeniedPath is an empty file inside that nobody may open: what masks show.
const DeniedPath = "/run/carrel/denied"

// Mask hides the file at target behind an empty one that nobody may open, in
// walls that stand: the mount of the start goes with the file that it was on,
// when somebody outside renames another over it.
//
// The stage has given its capabilities up. A new process of ours has them as
// soon as it enters the workspace's user namespace, which we own; only one with
// a single thread may, and no Go program has that from its start. So it is a
// fork that makes four system calls and ends.
func (w *Walls) Mask(target string) error {
	if w.child != 0 && w.pid != w.child {
		return fmt.Errorf("masking %q: bubblewrap's mounts are not carrel's to change", target)
	}
	pidfd, err := unix.PidfdOpen(w.pid, 0)
	if err != nil {
		return fmt.Errorf("masking %q: %w", target, err)
	}
	defer unix.Close(pidfd)
	m := masking{pidfd: uintptr(pidfd)}
	for _, text := range []struct {
		to   **byte
		from string
	}{{&m.source, DeniedPath}, {&m.dir, path.Dir(target)}, {&m.name, path.Base(target)}} {
		if *text.to, err = unix.BytePtrFromString(text.from); err != nil {
			return fmt.Errorf("masking %q: %w", target, err)
		}
	}
	m.how = unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_DIRECTORY, Resolve: unix.RESOLVE_NO_SYMLINKS}
	if err := m.run(); err != nil {
		return fmt.Errorf("masking %q: %w", target, err)
	}
	return nil
}

// masking is what the fork needs; it allocates nothing.
type masking struct {
	pidfd             uintptr
	source, dir, name *byte
	how               unix.OpenHow
}

func (m *masking) run() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	syscall.ForkLock.Lock()
	pid, errno := m.fork()
	syscall.ForkLock.Unlock()
	if errno != 0 {
		return errno
	}
	for {
		var status unix.WaitStatus
		switch _, err := unix.Wait4(int(pid), &status, unix.WALL, nil); {
		case err == unix.EINTR:
		case err != nil:
			return err
		case status.Signaled():
			return fmt.Errorf("the process that does it died by %v", status.Signal())
		case status.ExitStatus() != 0:
			return syscall.Errno(status.ExitStatus())
		default:
			return nil
		}
	}
}

// fork starts the process. As in any fork of a program with threads, nothing of
// the runtime may be used in it: no stack growth, no allocation, no signal.
//
//go:norace
//go:nosplit
//go:noinline
func (m *masking) fork() (uintptr, syscall.Errno) {
	var old uint64
	all := ^uint64(0)
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&old)), 8, 0, 0)
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, 0, 0, 0, 0, 0, 0)
	if pid == 0 && errno == 0 {
		m.enter()
	}
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&old)), 0, 8, 0, 0)
	return pid, errno
}

// enter is the forked process; its exit status is an errno.
//
//go:norace
//go:nosplit
//go:noinline
func (m *masking) enter() {
	const none = ^uintptr(99) // AT_FDCWD
	var dir uintptr
	_, _, e := syscall.RawSyscall6(unix.SYS_SETNS, m.pidfd, unix.CLONE_NEWUSER|unix.CLONE_NEWNS, 0, 0, 0, 0)
	if e == 0 {
		dir, _, e = syscall.RawSyscall6(unix.SYS_OPENAT2, none, uintptr(unsafe.Pointer(m.dir)), uintptr(unsafe.Pointer(&m.how)), unix.SizeofOpenHow, 0, 0)
	}
	if e == 0 {
		_, _, e = syscall.RawSyscall6(unix.SYS_FCHDIR, dir, 0, 0, 0, 0, 0)
	}
	if e == 0 {
		// Not open_tree: a detached mount counts as a mount namespace, and there
		// may be none. The copy is read-only as its source is.
		_, _, e = syscall.RawSyscall6(unix.SYS_MOUNT, uintptr(unsafe.Pointer(m.source)), uintptr(unsafe.Pointer(m.name)), 0, unix.MS_BIND, 0, 0)
	}
	for {
		syscall.RawSyscall6(unix.SYS_EXIT_GROUP, uintptr(e), 0, 0, 0, 0, 0)
	}
}
