//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// contain makes everything but dir read-only for this thread and what it
// starts, in a mount namespace of its own: random operations of root must not
// reach the machine, whatever their names turn out to lead to. Behind walls the
// walls do that. Root outside of both is refused.
func contain(dir string) error {
	if os.Getuid() != 0 || os.Getenv("CARREL") == "1" {
		return nil
	}
	runtime.LockOSThread() // never unlocked: only this thread is in the namespace
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("random operations of root need a mount namespace: %w", err)
	}
	all := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY, Propagation: unix.MS_PRIVATE}
	open := unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
	for _, step := range []func() error{
		func() error { return unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, "") },
		func() error { return unix.Mount(dir, dir, "", unix.MS_BIND, "") },
		func() error { return unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &all) },
		func() error { return unix.MountSetattr(unix.AT_FDCWD, dir, 0, &open) },
		func() error { return unix.Chdir(dir) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("making everything but %s read-only: %w", dir, err)
		}
	}
	// A change to what it is already tells whether it could be one to something else.
	if err := unix.Chmod("/", 0o755); !errors.Is(err, unix.EROFS) {
		return fmt.Errorf("the root directory is not read-only (%v); nothing was done", err)
	}
	return nil
}

// dropCapabilities gives up what root has beyond its uid, for all threads and
// for programs started later. Behind walls there is nothing left to give up.
func dropCapabilities() error {
	const noRoot = 1<<0 | 1<<1
	_, _, _ = syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_SECUREBITS, noRoot, 0, 0, 0, 0)
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if _, _, e := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0); e != 0 {
		return fmt.Errorf("giving up capabilities: %w", e)
	}
	return nil
}
