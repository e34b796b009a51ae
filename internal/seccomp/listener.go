package seccomp

import "errors"

// ErrClosed says that a listener has no more calls to receive: it was closed,
// or every process that carries its filter has ended.
var ErrClosed = errors.New("receiving system calls: the listener is closed, or every filtered process has ended")

// ErrOldKernel says that the kernel cannot hold a trapped call until it is
// answered: a signal would make the caller start it a second time.
var ErrOldKernel = errors.New("installing a filter with a listener: the kernel has no SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, want Linux 5.19 or later")

// Notification is one trapped call, in the layout of struct seccomp_notif
// (linux/seccomp.h).
type Notification struct {
	ID    uint64 // names the call in answers
	TID   uint32 // thread of the caller in this process's pid namespace; 0 when it is not in it
	Flags uint32
	Nr    int32
	Arch  uint32 // AUDIT_ARCH_ value
	IP    uint64
	Args  [6]uint64
}
