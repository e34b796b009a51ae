package session

import (
	"os"
	"sync"
	"time"

	"carrel/internal/api"
	"carrel/internal/fileops"
	"carrel/internal/inside"
	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// A request of a file tool is an app of its own, with its own step of the history, also
// where its program is there already: after the first one a helper stays inside, and
// carries out what comes next. Whatever it cannot take (another directory, a second
// request at the same time) gets a program of its own.

// helperIdle is how long a helper waits for another request.
const helperIdle = time.Minute

// helperPath is the helper's place inside.
const helperPath = inside.Dir + "/" + inside.FileHelper

// fileHelpers keeps the helper that stays.
type fileHelpers struct {
	walls *sandbox.Walls

	mu    sync.Mutex
	there *fileHelper // nil: none stays
	busy  bool        // it carries something out
	idle  *time.Timer // ends it
}

// fileHelper is one that stays. Its label is that of each app that it carries out, one
// after the other.
type fileHelper struct {
	id, label uint64
	dir       string
	conn      *os.File
	gone      chan struct{} // closed when it has ended
	exit      sandbox.Exit  // then
}

// isFileTool says whether a command is our own helper, for one request: what it does is the
// operation that it is started with. Variables are the caller's, and so none are taken.
func isFileTool(c *api.Command) bool {
	return len(c.Env) == 0 && len(c.Argv) > 1 && c.Argv[0] == helperPath && fileops.Known(c.Argv[1])
}

// helperThatStays is the command of one.
func helperThatStays(env []string, dir string, label uint64) *sandbox.Command {
	return &sandbox.Command{Argv: []string{helperPath, fileops.Stay}, Env: env, Dir: dir, Session: true, Label: label}
}

// take gives the helper for a request in a directory, nil where there is none for it. It is
// the caller's until it is given back.
func (f *fileHelpers) take(dir string) *fileHelper {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.there == nil || f.busy || f.there.dir != dir {
		return nil
	}
	f.idle.Stop()
	f.busy = true
	return f.there
}

// give takes a helper back that has answered.
func (f *fileHelpers) give(h *fileHelper) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.there == h {
		f.busy = false
		f.idle.Reset(helperIdle)
	}
}

// drop lets go of a helper, which ends by that.
func (f *fileHelpers) drop(h *fileHelper) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropLocked(h)
}

func (f *fileHelpers) dropLocked(h *fileHelper) {
	if f.there == h && h != nil {
		f.idle.Stop()
		h.conn.Close()
		f.there, f.busy = nil, false
	}
}

// begin has a helper stay, for requests like one that was started. What goes wrong leaves
// none: each request is then started.
func (f *fileHelpers) begin(c *sandbox.Command) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c == nil || f.busy || f.there != nil && f.there.dir == c.Dir {
		return
	}
	f.dropLocked(f.there)
	h := &fileHelper{label: c.Label, dir: c.Dir, gone: make(chan struct{})}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	_ = unix.SetNonblock(fds[0], true) // an error: it is read by a thread
	far := os.NewFile(uintptr(fds[1]), "socket of the file helper")
	defer far.Close()
	h.conn = os.NewFile(uintptr(fds[0]), "socket of the file helper")
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err == nil {
		defer null.Close()
		h.id, err = f.walls.Exec(*c, [3]*os.File{far, null, null})
	}
	if err != nil {
		h.conn.Close()
		return
	}
	f.there = h
	f.idle = time.AfterFunc(helperIdle, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if !f.busy {
			f.dropLocked(h)
		}
	})
	go func() { // ends with the helper, at the latest with the walls
		exit, err := f.walls.Wait(h.id)
		if err != nil { // the walls came down around it
			exit = sandbox.Exit{Signal: int(unix.SIGKILL)}
		}
		h.exit = exit
		close(h.gone)
		f.drop(h)
	}()
}

// ask sends a request. Nothing of it has been done where that fails.
func (h *fileHelper) ask(argv []string, stdio [3]*os.File) error {
	message, err := fileops.Call{Argv: argv, Dir: h.dir}.Message()
	if err != nil {
		return err
	}
	rights := unix.UnixRights(int(stdio[0].Fd()), int(stdio[1].Fd()), int(stdio[2].Fd()))
	raw, err := h.conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		failed = unix.Sendmsg(int(fd), message, rights, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
	}); err != nil {
		return err
	}
	return failed
}

// wait gives how a request ended, and whether the helper is there for the next one.
func (h *fileHelper) wait() (exit sandbox.Exit, stays bool) {
	var status [1]byte
	if n, err := h.conn.Read(status[:]); n == 1 && err == nil {
		return sandbox.Exit{Code: int(status[0])}, true
	}
	<-h.gone
	return h.exit, false
}
