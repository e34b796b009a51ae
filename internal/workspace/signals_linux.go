package workspace

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// stopGrace is how long a command has to end after a request to end.
const stopGrace = 5 * time.Second

// forwarded are the signals that a supervisor passes on. SIGTSTP, SIGTTIN and
// SIGTTOU are not among them: the terminal sends those to the whole process
// group, the command gets them itself, and we stop with it like any program of
// a pipeline.
var forwarded = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM}

// signalRelay passes signals to the command. It listens from before the start:
// a signal that comes while the walls are going up waits for the command.
type signalRelay struct {
	in    chan os.Signal
	early []syscall.Signal // came before there was a command
	done  chan struct{}
}

// holdSignals begins to listen. A signal that our caller had ignored stays
// ignored, for the command too.
func holdSignals() *signalRelay {
	var want []os.Signal
	for _, s := range forwarded {
		if !signal.Ignored(s) {
			want = append(want, s)
		}
	}
	r := &signalRelay{in: make(chan os.Signal, 64), done: make(chan struct{})}
	signal.Notify(r.in, want...)
	return r
}

// starting is called as soon as the walls stand, just before there is a command.
// What has come so far goes to it in any case: the terminal's copy did not find
// it. What comes from now on the terminal sends to it as well.
func (r *signalRelay) starting() {
	for n := len(r.in); n > 0; n-- {
		r.early = append(r.early, (<-r.in).(syscall.Signal))
	}
}

// forward begins to pass on. A command that waits for a person's answer stands still, and
// is let go on to take what asks it to end.
func (r *signalRelay) forward(up *raised) {
	w := up.walls
	for _, sig := range r.early {
		_ = w.Signal(sandbox.FirstCommand, sig)
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
					up.interrupt()
					continue
				}
				_ = w.Signal(sandbox.FirstCommand, sig)
				switch sig {
				case syscall.SIGINT, syscall.SIGQUIT:
					up.interrupt()
				case syscall.SIGTERM, syscall.SIGHUP:
					up.letEnd()
					if asked++; asked == 1 {
						time.AfterFunc(stopGrace, func() { killUnlessDone(up, r.done) })
					} else {
						killUnlessDone(up, r.done)
					}
				}
			}
		}
	}()
}

// stop ends the relay; it may be called once.
func (r *signalRelay) stop() {
	signal.Stop(r.in)
	close(r.done)
}

func killUnlessDone(up *raised, done <-chan struct{}) {
	select {
	case <-done:
	default:
		_ = up.walls.Signal(sandbox.FirstCommand, syscall.SIGKILL)
		up.letEnd()
	}
}

// fromTerminal says whether an interrupt was typed: then the terminal has sent
// it to the command as well, which is in our process group, and a second one
// would end what handles the first.
func fromTerminal(sig syscall.Signal) bool {
	if sig != syscall.SIGINT && sig != syscall.SIGQUIT {
		return false
	}
	return inForeground()
}

// inForeground says whether our process group has a terminal and is the one
// that it listens to.
func inForeground() bool {
	tty, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer unix.Close(tty)
	front, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	return err == nil && front == unix.Getpgrp()
}

// stopSettle is how long after a stop one looks again.
const stopSettle = 20 * time.Millisecond

// stopWith stops the supervisor when the command has stopped, so that the shell
// outside sees it and takes its terminal back. A stop typed at the terminal
// reaches us as well, and its message is handled only after both were
// continued; so what counts is whether the command is still stopped. Where no
// terminal is ours to give back, or the clock runs, nobody would wake us.
func (p *Prepared) stopWith(w *sandbox.Walls, id uint64, _ syscall.Signal) {
	if id != sandbox.FirstCommand || p.Policy.Resources.Timeout > 0 || !inForeground() {
		return
	}
	time.Sleep(stopSettle)
	if w.IsStopped(id) {
		_ = unix.Kill(os.Getpid(), syscall.SIGSTOP)
	}
}

// DieBy ends this process by the signal that ended the command, so that a
// shell sees what it would have seen without walls. It returns only when the
// signal is ignored.
func DieBy(sig syscall.Signal) {
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	runtime.LockOSThread()
	// Package signal would give the runtime's own handler back, which prints a
	// crash of ours. The kernel's struct: handler, flags, restorer, mask.
	var defaultAction struct{ handler, flags, restorer, mask uintptr }
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&defaultAction)), 0, 8, 0, 0)
	var none unix.Sigset_t
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &none, nil)
	_ = unix.Kill(os.Getpid(), sig)
	time.Sleep(100 * time.Millisecond)
}
