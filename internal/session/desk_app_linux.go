package session

import (
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"carrel/internal/api"
	"carrel/internal/processes"
	"carrel/internal/sandbox"
	"carrel/internal/spool"
	"carrel/internal/steps"

	"golang.org/x/sys/unix"
)

// app is one command in a workspace that stays.
type app struct {
	inside processes.Members // of its walls
	over   <-chan struct{}   // closed when the workspace has to end
	info   api.App           // under appTable.mu
	id     uint64            // of the walls
	label  uint64
	job    *steps.Job
	exit   sandbox.Exit
	done   chan struct{} // closed when its first process has ended and all is told

	logs    map[string]*spool.Log // by stream; closed when everything is written
	from    map[string]*os.File   // what is read into each
	drained sync.WaitGroup
	term    *terminal        // nil for one without
	sits    bool             // at a terminal, that one or its caller's
	helper  *fileHelper      // that carries it out; nil where it has a program of its own
	stays   *sandbox.Command // the helper for what comes after it; nil for none
}

// started is what an app is started with.
type started struct {
	kind  string
	cmd   api.Command
	stdio [3]*os.File
	id    string                // "" for a new one
	logs  map[string]*spool.Log // by stream, with what is read into each
	from  map[string]*os.File
	term  *terminal
}

// ended waits for the end of an app's first process, or of the request that its helper
// carries out, and says whether that stays.
func (a *app) ended(walls *sandbox.Walls) (exit sandbox.Exit, stays bool) {
	if a.helper != nil {
		return a.helper.wait()
	}
	exit, err := walls.Wait(a.id)
	if err != nil { // the walls came down around it
		exit = sandbox.Exit{Signal: int(syscall.SIGKILL)}
	}
	return exit, false
}

// another says that a helper that stays is another app's by now.
func (a *app) another() bool {
	select {
	case <-a.done:
		return a.helper != nil
	default:
		return false
	}
}

// signal sends signals to all that runs of an app.
func (a *app) signal(signals ...syscall.Signal) {
	if !a.another() {
		a.inside.Signal(a.label, signals...)
	}
}

// finishLogs waits until what an app has written is in its logs. What it left behind
// may write on, and keep the pipe open.
func (a *app) finishLogs() {
	if a.logs == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		a.drained.Wait()
		for _, l := range a.logs {
			l.Close()
		}
		close(done)
	}()
	empty := 0
	for end := time.Now().Add(drainTime); time.Now().Before(end) && empty < 2; {
		select {
		case <-done:
			return
		case <-time.After(time.Millisecond):
		}
		if empty++; a.unread() > 0 {
			empty = 0
		}
	}
}

// unread is how much an app has written that was not read yet, in bytes.
func (a *app) unread() (n int) {
	for _, f := range a.from {
		raw, err := f.SyscallConn()
		if err != nil {
			continue
		}
		_ = raw.Control(func(fd uintptr) {
			if left, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ); err == nil {
				n += left
			}
		})
	}
	return n
}

// drain copies what an app writes into its log until the last process has closed it.
func (a *app) drain(stream string) {
	log, from := a.logs[stream], a.from[stream]
	a.drained.Go(func() {
		defer from.Close()
		_, _ = io.CopyBuffer(struct{ io.Writer }{log}, struct{ io.Reader }{from}, make([]byte, 32<<10))
	})
}

// kill ends an app and all that it has started, and returns when nothing of it is left.
func (a *app) kill(cancelled <-chan struct{}) error {
	a.ask()
	for end := time.Now().Add(stopGrace); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if a.another() {
			return nil
		}
		if left, err := a.inside.Left(a.label); err == nil && left == 0 {
			return nil
		}
		select {
		case <-cancelled:
			return errors.New("nobody waits any more")
		case <-a.over:
			return nil
		default:
		}
	}
	return a.inside.Kill(a.label)
}

// ask asks an app and all that it has started to end. Shells at a terminal only hear
// that it is closed.
func (a *app) ask() {
	signals := []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGCONT}
	if !a.sits {
		signals = slices.Delete(signals, 1, 2)
	}
	a.signal(signals...)
}

// hangUpGrace is how long a command has that no caller waits for any more, before it is
// asked to end like others.
const hangUpGrace = 500 * time.Millisecond

// hangUp ends a command that no caller waits for any more.
func (a *app) hangUp() {
	a.signal(syscall.SIGHUP)
	go func() {
		select {
		case <-a.done:
		case <-a.over:
			return
		case <-time.After(hangUpGrace):
		}
		_ = a.kill(nil)
	}()
}
