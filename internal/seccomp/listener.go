package seccomp

import "errors"

// ErrClosed says that a listener has no more calls to receive: it was closed,
// or every process that carries its filter has ended.
var ErrClosed = errors.New("receiving system calls: the listener is closed, or every filtered process has ended")

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
