package stdio

import (
	"syscall"
	"unsafe"
)

// What package syscall has no name for, from the kernel's headers.
const (
	pipeFS     = 0x50495045 // PIPEFS_MAGIC
	waiting    = 0x541b     // TIOCINQ, FIONREAD
	frontGroup = 0x540f     // TIOCGPGRP
	setMask    = 2          // SIG_SETMASK
)

// fcntl asks for a number that belongs to a descriptor, see fcntl(2).
func fcntl(fd uintptr, what int) (int, error) {
	n, _, e := syscall.Syscall(syscall.SYS_FCNTL, fd, uintptr(what), 0)
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}

// ioctlNumber asks for a number by ioctl(2).
func ioctlNumber(fd uintptr, what uintptr) (int, error) {
	var n int32
	_, _, e := syscall.Syscall(syscall.SYS_IOCTL, fd, what, uintptr(unsafe.Pointer(&n)))
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}

// major and minor part the number of a device, see makedev(3).
func major(device uint64) uint32 { return uint32(device>>8)&0xfff | uint32(device>>32)&^0xfff }
func minor(device uint64) uint32 { return uint32(device)&0xff | uint32(device>>12)&^0xff }

// IsTerminal reports whether a descriptor is one of a terminal.
func IsTerminal(fd int) bool {
	var modes [64]byte // struct termios has 36 or 44 bytes
	_, _, e := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TCGETS, uintptr(unsafe.Pointer(&modes)))
	return e == 0
}
