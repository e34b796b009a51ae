package ownfs

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// thread carries calls out, one at a time; it is for one goroutine. Go's runtime starts its
// threads with CLONE_FS, and the kernel asks for no permission where one is started without
// it. Such a thread is none of the runtime's: it has no stack to speak of, receives no signal
// and runs a loop in assembly that takes one system call at a time from a page of memory. It
// is of the same process: descriptors and the end are shared, capabilities are inherited.
type thread struct {
	page []byte
	call *call
}

// call is the first part of the page that both threads share. loop_linux_*.s knows the
// offsets.
type call struct {
	state  uint32 // one of the states below
	alive  uint32 // the thread's id; the kernel clears it at its end
	nr     uintptr
	args   [6]uintptr
	result uintptr // negative: an errno
	text   [1024]byte
}

const (
	idle  = 0
	asked = 1
	done  = 2
)

// Operations of futex(2).
const (
	futexWait = 0
	futexWake = 1
)

// shared is what the runtime's own threads share, less CLONE_FS.
const shared = unix.CLONE_VM | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_SYSVSEM | unix.CLONE_THREAD

// clone starts a thread in the loop over the calls of a page. ended is cleared at its end.
//
//go:noescape
func clone(flags, stack uintptr, page *call, ended *uint32) (tid uintptr)

func startThread() (*thread, error) {
	page, err := unix.Mmap(-1, 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("starting a thread: %w", err)
	}
	t := &thread{page: page, call: (*call)(unsafe.Pointer(&page[0]))}
	atomic.StoreUint32(&t.call.alive, ^uint32(0))
	stack := uintptr(unsafe.Pointer(&page[len(page)-16]))
	runtime.LockOSThread() // the new thread inherits what is blocked here
	all, old := ^uint64(0), uint64(0)
	mask(&all, &old)
	tid := clone(shared|unix.CLONE_CHILD_CLEARTID, stack, t.call, &t.call.alive)
	mask(&old, nil)
	runtime.UnlockOSThread()
	if err := failed(tid); err != nil {
		_ = unix.Munmap(page)
		return nil, fmt.Errorf("starting a thread: %w", err)
	}
	return t, nil
}

// mask sets which signals the calling thread blocks.
func mask(to, was *uint64) {
	const size = 8
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK,
		uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(was)), size, 0, 0)
}

// failed is the errno that a system call's result stands for.
func failed(result uintptr) error {
	if e := -int(result); e > 0 && e < 4096 {
		return syscall.Errno(e)
	}
	return nil
}

// close ends the thread, and waits until it has.
func (t *thread) close() {
	t.ask(unix.SYS_EXIT, [6]uintptr{})
	for {
		left := atomic.LoadUint32(&t.call.alive)
		if left == 0 {
			break
		}
		futex(&t.call.alive, futexWait, left) // the kernel wakes as it clears
	}
	_ = unix.Munmap(t.page)
	t.page, t.call = nil, nil
}

// do has the thread make one call.
func (t *thread) do(nr uintptr, args ...uintptr) (int, error) {
	var six [6]uintptr
	copy(six[:], args)
	t.ask(nr, six)
	for atomic.LoadUint32(&t.call.state) != done {
		futex(&t.call.state, futexWait, asked)
	}
	result := t.call.result
	return int(result), failed(result)
}

func (t *thread) ask(nr uintptr, args [6]uintptr) {
	t.call.nr, t.call.args = nr, args
	atomic.StoreUint32(&t.call.state, asked)
	futex(&t.call.state, futexWake, 1)
}

func futex(word *uint32, operation int, value uint32) {
	syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), uintptr(operation), uintptr(value), 0, 0, 0)
}

// named has the thread make a call that has a path as its second argument.
func (t *thread) named(nr uintptr, dir int, path string, rest ...uintptr) (int, error) {
	if strings.IndexByte(path, 0) >= 0 {
		return 0, unix.EINVAL
	}
	if len(path) >= len(t.call.text) {
		return 0, unix.ENAMETOOLONG
	}
	t.call.text[copy(t.call.text[:], path)] = 0
	return t.do(nr, append([]uintptr{uintptr(dir), t.text()}, rest...)...)
}

// text is where arguments lie that calls point to: what the collector knows could move.
func (t *thread) text() uintptr { return uintptr(unsafe.Pointer(&t.call.text)) }

func (t *thread) umask(mask int) { _, _ = t.do(unix.SYS_UMASK, uintptr(mask)) }

// bindAt is there for these calls alone, and pins nothing after them.
func (t *thread) bindAt(socket, dir int, name string) error {
	address := append(binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX), here+name+"\x00"...)
	if len(address) > unix.SizeofSockaddrUnix {
		return unix.EINVAL
	}
	if _, err := t.do(unix.SYS_FCHDIR, uintptr(dir)); err != nil {
		return err
	}
	copy(t.call.text[:], address)
	_, err := t.do(unix.SYS_BIND, uintptr(socket), t.text(), uintptr(len(address)))
	copy(t.call.text[:], "/\x00")
	_, _ = t.do(unix.SYS_CHDIR, t.text())
	return err
}
