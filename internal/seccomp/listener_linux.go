package seccomp

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Listener is the supervisor's end of a filter that traps calls. All methods
// may be called from several goroutines at once.
//
// Receivers block in the kernel's own ioctl, which costs least. It ends for
// nobody's sake on some kernels, so that a wake-up is built from two parts that
// work on all: the descriptor's number is turned to another file (dup3), and
// each thread gets SIGURG, which the Go runtime sends to itself all the time.
// The kernel then starts an interrupted ioctl again on what the number means
// now, which answers ENOTTY. A thread that had not entered yet finds the same.
type Listener struct {
	fd    int
	other int // the eventfd that takes fd's place, and that wakes watch

	// users counts what works on fd. The number is free for other files only
	// when the last has left.
	users atomic.Int64
}

// Bits of users above any count.
const (
	closing = 1 << 32 // no more may begin
	closed  = 1 << 33 // the descriptors are closed
)

// Requests and structures of linux/seccomp.h.
const (
	notifValid      = 0x40082102 // SECCOMP_IOCTL_NOTIF_ID_VALID
	notifAddFD      = 0x40182103 // SECCOMP_IOCTL_NOTIF_ADDFD
	notifSetFlags   = 0x40082104 // SECCOMP_IOCTL_NOTIF_SET_FLAGS
	syncWakeUp      = unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
	flagContinue    = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	receiveSize     = 80
	answerSize      = 24
	seccompDataSize = 64
)

// answer is struct seccomp_notif_resp.
type answer struct {
	id    uint64
	val   int64
	errno int32 // negative, or 0
	flags uint32
}

// grant is struct seccomp_notif_addfd.
type grant struct {
	id      uint64
	flags   uint32
	source  uint32
	target  uint32
	fdFlags uint32
}

// NewListener takes over fd, which install.Filter returned in this process or
// in the one that sent it here. It closes fd when it fails.
func NewListener(fd int) (*Listener, error) { return newListener(fd, true) }

func newListener(fd int, sync bool) (*Listener, error) {
	if err := checkSizes(); err != nil {
		unix.Close(fd)
		return nil, err
	}
	// The number of a call that nobody made: a listener knows none (ENOENT),
	// any other file does not know the question.
	var none uint64
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), notifValid, uintptr(unsafe.Pointer(&none))); errno != unix.ENOENT {
		unix.Close(fd)
		return nil, fmt.Errorf("opening a seccomp listener: descriptor %d is none: %w", fd, errno)
	}
	other, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("opening a seccomp listener: making an eventfd: %w", err)
	}
	if sync {
		// Kernels before 6.6 do not know it and are slower; nothing else differs.
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), notifSetFlags, syncWakeUp)
	}
	l := &Listener{fd: fd, other: other}
	l.users.Store(1) // watch
	go l.watch()
	return l, nil
}

// checkSizes compares the kernel's structures with the ones above.
func checkSizes() error {
	var sizes struct{ notif, resp, data uint16 }
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_NOTIF_SIZES, 0, uintptr(unsafe.Pointer(&sizes)))
	if errno != 0 {
		return fmt.Errorf("opening a seccomp listener: asking for the sizes of its structures: %w", errno)
	}
	if sizes.notif != receiveSize || sizes.resp != answerSize || sizes.data != seccompDataSize {
		return fmt.Errorf("opening a seccomp listener: the kernel's structures have %d, %d and %d bytes, want %d, %d and %d",
			sizes.notif, sizes.resp, sizes.data, receiveSize, answerSize, seccompDataSize)
	}
	return nil
}

// Receive waits for the next call and puts it in n. It returns ErrClosed when
// there will be none: after Close, and when every filtered process has ended.
func (l *Listener) Receive(n *Notification) error {
	for {
		*n = Notification{} // the kernel demands zeros
		switch _, errno := l.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(n)); errno {
		case 0:
			return nil
		case unix.EINTR:
		case unix.ENOTTY:
			return ErrClosed
		case unix.ENOENT: // the caller was killed meanwhile, or there is none left
			if l.hungUp() {
				return ErrClosed
			}
		default:
			return fmt.Errorf("receiving a system call: %w", errno)
		}
	}
}

// Answer ends the call id: with errno when that is not 0, else with val as its
// result. The error is unix.ENOENT when nobody waits for it: the caller is
// gone, or the listener is closed.
func (l *Listener) Answer(id uint64, val int64, errno syscall.Errno) error {
	return l.send(answer{id: id, val: val, errno: -int32(errno)})
}

// Continue lets the kernel carry the call id out. It reads the caller's memory
// again, which may have changed: this is never a permission. Errors are as
// Answer's.
func (l *Listener) Continue(id uint64) error {
	return l.send(answer{id: id, flags: flagContinue})
}

func (l *Listener) send(a answer) error {
	_, err := l.retry(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a))
	return err
}

// Valid says whether the caller of id still waits. What was read from /proc by
// its thread number before is the caller's then, and nobody else's.
func (l *Listener) Valid(id uint64) bool {
	_, err := l.retry(notifValid, unsafe.Pointer(&id))
	return err == nil
}

// AddFD gives the caller of id a copy of fd and returns its number there. flags
// is unix.O_CLOEXEC or 0. The caller goes on waiting. Errors are as Answer's,
// and unix.EMFILE when the caller has no free number.
func (l *Listener) AddFD(id uint64, fd, flags int) (int, error) {
	g := grant{id: id, source: uint32(fd), fdFlags: uint32(flags)}
	number, err := l.retry(notifAddFD, unsafe.Pointer(&g))
	if err != nil {
		return -1, err
	}
	return int(number), nil
}

// Close wakes every receiver and returns when all have left. Calls that wait
// for an answer, and later ones, get ENOSYS. It may be called more than once.
func (l *Listener) Close() {
	l.end()
	for pause := 50 * time.Microsecond; l.users.Load()&closed == 0; pause *= 2 {
		time.Sleep(pause)
		// One that /proc did not list in time, or a thread that the first
		// signal met on its way into the kernel, before the number turned.
		if wakeThreads() != nil {
			return // nothing to wake them by
		}
	}
}

// retry is ioctl for requests that do not wait for long.
func (l *Listener) retry(request uintptr, p unsafe.Pointer) (uintptr, error) {
	for {
		switch r, errno := l.ioctl(request, p); errno {
		case 0:
			return r, nil
		case unix.EINTR:
		case unix.ENOTTY:
			return 0, unix.ENOENT // closed
		default:
			return 0, errno
		}
	}
}

// ioctl answers ENOTTY once the listener is closed.
func (l *Listener) ioctl(request uintptr, p unsafe.Pointer) (uintptr, syscall.Errno) {
	if !l.enter() {
		return 0, unix.ENOTTY
	}
	r, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), request, uintptr(p))
	l.leave()
	return r, errno
}

func (l *Listener) enter() bool {
	if l.users.Add(1)&closing == 0 {
		return true
	}
	l.leave()
	return false
}

func (l *Listener) leave() {
	if l.users.Add(-1) == closing && l.users.CompareAndSwap(closing, closing|closed) {
		unix.Close(l.fd)
		unix.Close(l.other)
	}
}

// end turns fd to the eventfd and wakes whoever waits on what it was.
func (l *Listener) end() {
	if !l.enter() {
		return
	}
	defer l.leave()
	if l.users.Or(closing)&closing != 0 {
		return
	}
	for unix.Dup3(l.other, l.fd, unix.O_CLOEXEC) == unix.EBUSY {
		time.Sleep(time.Microsecond) // open(2) in another thread is about to take a number
	}
	one := [8]byte{0: 1}
	_, _ = unix.Write(l.other, one[:]) // for watch
	_ = wakeThreads()
}

// watch ends the listener when the last filtered process has: before Linux
// 6.11, receivers would wait for ever. It wakes up for nothing else.
func (l *Listener) watch() {
	defer l.leave()
	polled := []unix.PollFd{{Fd: int32(l.fd)}, {Fd: int32(l.other), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(polled, -1)
		if err == unix.EINTR || err == nil && n == 0 {
			continue
		}
		l.end()
		return
	}
}

// hungUp says whether no process carries the filter any more.
func (l *Listener) hungUp() bool {
	if !l.enter() {
		return true
	}
	defer l.leave()
	polled := []unix.PollFd{{Fd: int32(l.fd)}}
	n, err := unix.Poll(polled, 0)
	return err == nil && n > 0 && polled[0].Revents&(unix.POLLHUP|unix.POLLNVAL) != 0
}

// wakeThreads interrupts the system calls of all threads of this process.
func wakeThreads() error {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	pid := unix.Getpid()
	for _, t := range tasks {
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.Tgkill(pid, tid, unix.SIGURG) // ESRCH: it has ended
		}
	}
	return nil
}
