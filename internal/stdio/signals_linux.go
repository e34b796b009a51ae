package stdio

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// forwarded are the signals that a supervisor passes on. SIGTSTP, SIGTTIN and
// SIGTTOU are not among them: the terminal sends those to the whole process
// group, the command gets them itself, and we stop with it like any program of
// a pipeline.
var forwarded = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM}

// Signals passes signals to the command. It listens from before the start:
// a signal that comes while the walls are going up waits for the command.
type Signals struct {
	in    chan os.Signal
	early []syscall.Signal // came before there was a command
	done  chan struct{}
}

// HoldSignals begins to listen. A signal that our caller had ignored stays
// ignored, for the command too.
func HoldSignals() *Signals {
	var want []os.Signal
	for _, s := range forwarded {
		if !signal.Ignored(s) {
			want = append(want, s)
		}
	}
	r := &Signals{in: make(chan os.Signal, 64), done: make(chan struct{})}
	signal.Notify(r.in, want...)
	return r
}

// Starting is called as soon as the walls stand, just before there is a command.
// What has come so far goes to it in any case: the terminal's copy did not find
// it. What comes from now on the terminal sends to it as well.
func (r *Signals) Starting() {
	for n := len(r.in); n > 0; n-- {
		r.early = append(r.early, (<-r.in).(syscall.Signal))
	}
}

// Target is the command that signals are passed on to. A command that waits for a
// person's answer stands still, and is let go on to take what asks it to end.
type Target interface {
	Signal(syscall.Signal)
	Interrupt() // it is interrupted, and may go on
	LetEnd()    // it is to end
}

// Forward begins to pass on. A command that is asked to end has the time of grace.
func (r *Signals) Forward(to Target, grace time.Duration) {
	for _, sig := range r.early {
		to.Signal(sig)
	}
	go func() {
		var asked int
		for {
			select {
			case <-r.done:
				return
			case s := <-r.in:
				sig := s.(syscall.Signal)
				if fromTerminal(sig) {
					to.Interrupt()
					continue
				}
				to.Signal(sig)
				switch sig {
				case syscall.SIGINT, syscall.SIGQUIT:
					to.Interrupt()
				case syscall.SIGTERM, syscall.SIGHUP:
					to.LetEnd()
					if asked++; asked == 1 {
						time.AfterFunc(grace, func() { r.killUnlessDone(to) })
					} else {
						r.killUnlessDone(to)
					}
				}
			}
		}
	}()
}

// Stop ends the relay; it may be called once.
func (r *Signals) Stop() {
	signal.Stop(r.in)
	close(r.done)
}

func (r *Signals) killUnlessDone(to Target) {
	select {
	case <-r.done:
	default:
		to.Signal(syscall.SIGKILL)
		to.LetEnd()
	}
}

// fromTerminal says whether an interrupt was typed: then the terminal has sent
// it to the command as well, which is in our process group, and a second one
// would end what handles the first.
func fromTerminal(sig syscall.Signal) bool {
	if sig != syscall.SIGINT && sig != syscall.SIGQUIT {
		return false
	}
	return InForeground()
}

// InForeground says whether our process group has a terminal and is the one
// that it listens to.
func InForeground() bool {
	terminal, err := syscall.Open("/dev/tty", syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer syscall.Close(terminal)
	front, err := ioctlNumber(uintptr(terminal), frontGroup)
	return err == nil && front == syscall.Getpgrp()
}

// DieBy ends this process by the signal that ended the command, so that a
// shell sees what it would have seen without walls. It returns only when the
// signal is ignored.
func DieBy(sig syscall.Signal) {
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	runtime.LockOSThread()
	// Package signal would give the runtime's own handler back, which prints a
	// crash of ours.
	_ = Default(sig)
	var none uint64
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&none)), 0, 8, 0, 0)
	_ = syscall.Kill(os.Getpid(), sig)
	time.Sleep(100 * time.Millisecond)
}
