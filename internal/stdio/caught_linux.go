package stdio

import (
	"syscall"
	"time"
	"unsafe"
)

// Caught are the signals that a supervisor passes on, each written to a pipe by a handler of
// our own. Package os/signal would take two goroutines and three threads, and change from
// one thread to another and back for each signal: more than a short command takes.
//
// The handlers are the process's, so there is one of these at a time.
type Caught struct {
	reader int
	before []replaced
}

// replaced is what a signal did before.
type replaced struct {
	signal syscall.Signal
	did    action
}

// caughtWriter is the end of the pipe that the handler writes to.
//
//lint:ignore U1000 the handler reads it, which is in assembly
var caughtWriter int

// handler writes the number of a signal to caughtWriter, and restorer returns from it. Both are
// for the kernel to call, by their addresses.
//
//lint:ignore U1000 its address is taken in assembly
func handler()

//lint:ignore U1000 its address is taken in assembly
func restorer()

var handlerAddress, restorerAddress uintptr

// CatchSignals begins to listen. A signal that our caller had ignored stays ignored, for the
// command too.
func CatchSignals() (*Caught, error) {
	var fds [2]int
	if err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		return nil, err
	}
	c := &Caught{reader: fds[0], before: make([]replaced, 0, len(forwarded))}
	caughtWriter = fds[1]
	// The runtime gives each thread a stack for signals, and its own handlers expect no other
	// signal to come meanwhile.
	catch := action{handler: handlerAddress, flags: onStack | restart | hasRestorer, restorer: restorerAddress, mask: ^uint64(0)}
	for _, s := range forwarded {
		sig := s.(syscall.Signal)
		was, err := setAction(sig, nil)
		if err == nil && was.handler != ignoredHandler {
			_, err = setAction(sig, &catch)
			c.before = append(c.before, replaced{sig, was})
		}
		if err != nil {
			c.Release()
			return nil, err
		}
	}
	return c, nil
}

// Release gives signals back to the handlers that they had. The pipe stays: a handler may be
// at it on another thread, and another file would get its number.
func (c *Caught) Release() {
	for _, was := range c.before {
		_, _ = setAction(was.signal, &was.did)
	}
	c.before = nil
}

// Await waits until a signal has come, or fd has something to read, but no longer than patience;
// a negative one has no end. signal is 0 for none.
func (c *Caught) Await(fd int, patience time.Duration) (signal syscall.Signal, readable bool, err error) {
	var limit *syscall.Timespec
	if patience >= 0 {
		t := syscall.NsecToTimespec(patience.Nanoseconds())
		limit = &t
	}
	events := [2]pollFD{{fd: int32(c.reader), events: pollIn}, {fd: int32(fd), events: pollIn}}
	_, _, e := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&events)), uintptr(len(events)), uintptr(unsafe.Pointer(limit)), 0, 0, 0)
	if e == syscall.EINTR { // a signal, which is in the pipe now
		return c.Await(fd, 0)
	}
	if e != 0 {
		return 0, false, e
	}
	if events[0].revents != 0 {
		var number [1]byte
		if n, err := syscall.Read(c.reader, number[:]); err != nil || n != 1 {
			return 0, false, err
		}
		signal = syscall.Signal(number[0])
	}
	return signal, events[1].revents != 0, nil
}

// action is the kernel's struct sigaction, and pollFD its struct pollfd.
type action struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

type pollFD struct {
	fd              int32
	events, revents int16
}

// From the kernel's signal-defs.h, signal.h and poll.h.
const (
	ignoredHandler = 1
	hasRestorer    = 0x04000000
	onStack        = 0x08000000
	restart        = 0x10000000
	pollIn         = 1
)

// setAction changes what a signal does, where to is not nil, and gives what it did before.
func setAction(sig syscall.Signal, to *action) (was action, err error) {
	_, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(&was)), unsafe.Sizeof(was.mask), 0, 0)
	if e != 0 {
		return was, e
	}
	return was, nil
}

// Default gives a signal the kernel's own action instead of the runtime's handler.
func Default(sig syscall.Signal) error {
	_, err := setAction(sig, &action{})
	return err
}
