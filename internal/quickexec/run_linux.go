package quickexec

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"carrel/internal/registry"
	"carrel/internal/stdio"
)

// Run runs a command with this process's standard descriptors, and returns when it has ended.
func Run(w Workspace, c Command) Result {
	r, signals := run(w, c)
	if signals != nil {
		signals.Release()
	}
	return r
}

// run is Run, and leaves the signals caught; nil where they were not. To let go of them takes
// time that a process which is about to end need not spend.
func run(w Workspace, c Command) (Result, *stdio.Caught) {
	r := Result{Workspace: w.ID}
	files, err := stdio.New([3]*os.File{os.Stdin, os.Stdout, os.Stderr}, true)
	if err != nil {
		r.Err = err
		return r, nil
	}
	talk, err := w.connect()
	if err != nil {
		files.Abandon()
		r.Err = err
		return r, nil
	}
	defer talk.close()
	// A signal that comes when the request is out is the command's, which may run already.
	signals, err := stdio.CatchSignals()
	if err == nil {
		err = talk.ask(execLine(w.Ceiling, c), files.Files[:]...)
	}
	if err != nil {
		files.Abandon()
		r.Err = err
		return r, signals
	}
	pass := passing{of: w, talk: talk, signals: signals}
	talk.ready = pass.untilReadable
	files.Started()
	line, err := talk.next()
	if err != nil || !more(line) {
		files.Abandon()
		r.Last, r.Err = line, err
		return r, signals
	}
	pass.on()
	for err == nil && more(line) {
		line, err = talk.next()
	}
	files.Settle()
	lost := files.Finish()
	if r.Last, r.Err = line, err; err == nil {
		r.Err = lost
	}
	return r, signals
}

// more reports whether a line of an answer is not its last.
func more(line []byte) bool { return string(field(line, "more")) == "true" }

// startPatience is how long a signal waits for a command to have started.
const startPatience = time.Second

// passing hands signals on to a command. One that comes before that is known to have started
// waits for it, as the command may run already. Where no answer comes it is this process's own.
type passing struct {
	of      Workspace
	talk    *conversation
	signals *stdio.Caught
	started bool
	early   []syscall.Signal
	since   time.Time // when the first of these came
}

// untilReadable waits until the workspace has said something, and hands on what comes meanwhile.
func (p *passing) untilReadable() error {
	for {
		patience := time.Duration(-1)
		if len(p.early) > 0 {
			if patience = startPatience - time.Since(p.since); patience < 0 {
				stdio.DieBy(p.early[0])
			}
		}
		s, readable, err := p.signals.Await(p.talk.fd, patience)
		if s != 0 {
			p.take(s)
		}
		if err != nil || readable {
			return err
		}
	}
}

func (p *passing) take(s syscall.Signal) {
	if !p.started {
		if len(p.early) == 0 {
			p.since = time.Now()
		}
		p.early = append(p.early, s)
		return
	}
	go p.of.leaveStill(s)
	_ = p.talk.send(signalLine(int(s))) // a workspace that has gone is seen by who reads
}

// on says that the command has started.
func (p *passing) on() {
	p.started = true
	for _, s := range p.early {
		p.take(s)
	}
	p.early = nil
}

// stillPatience is how long a command may take to end by a signal before the caller asks
// whether the workspace stands still.
const stillPatience = time.Second

// leaveStill ends this process by a signal that wants an end, where the workspace is
// paused: its processes take no signal until it is resumed, and programs inside can pause
// it. The workspace ends the command.
func (w Workspace) leaveStill(s syscall.Signal) {
	if s != syscall.SIGINT && s != syscall.SIGTERM && s != syscall.SIGHUP && s != syscall.SIGQUIT {
		return
	}
	time.Sleep(stillPatience)
	talk, err := w.connect()
	if err != nil {
		return
	}
	defer talk.close()
	if err := talk.ask(statusLine(w.Ceiling)); err != nil {
		return
	}
	line, err := talk.next()
	if err != nil || string(fields(line, "status", "control", "mode")) != `"paused"` {
		return
	}
	fmt.Fprintf(os.Stderr, "carrel: %s is paused, and so is the command: it is ended\nhint: carrel control %s active\n", w.Name, w.Name)
	stdio.DieBy(s)
}

// conversation is a connection to a supervisor, by calls that block.
type conversation struct {
	of    registry.Listener
	fd    int
	got   []byte
	ready func() error // waits until there is something to read, nil for read(2) itself
}

// connect opens a conversation.
func (w Workspace) connect() (*conversation, error) {
	fd, err := w.Connect(nil)
	if err != nil {
		return nil, err
	}
	c := &conversation{of: w.Listener, fd: fd}
	limit := syscall.NsecToTimeval(registry.SendTime.Nanoseconds())
	if err = syscall.SetNonblock(fd, false); err == nil {
		err = syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_SNDTIMEO, &limit)
	}
	if err != nil {
		c.close()
		return nil, w.Broken(err)
	}
	return c, nil
}

// ask sends the request, with descriptors beside it.
func (c *conversation) ask(line []byte, files ...*os.File) error {
	if err := c.send(line, files...); err != nil {
		return c.of.Broken(err)
	}
	return nil
}

func (c *conversation) send(line []byte, files ...*os.File) error {
	if len(line) > registry.MaxLine {
		return registry.ErrLine
	}
	var beside []byte
	if len(files) > 0 {
		var fds []int
		for _, f := range files {
			fds = append(fds, int(f.Fd()))
		}
		beside = syscall.UnixRights(fds...)
	}
	for len(line) > 0 {
		n, err := syscall.SendmsgN(c.fd, line, beside, nil, syscall.MSG_NOSIGNAL)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		line, beside = line[n:], nil // the descriptors have gone with the first byte
	}
	return nil
}

// next reads a line.
func (c *conversation) next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(c.got, '\n'); i >= 0 {
			line := c.got[:i+1]
			c.got = c.got[i+1:]
			return line, nil
		}
		if len(c.got) > registry.MaxLine {
			return nil, c.of.Broken(registry.ErrLine)
		}
		if c.ready != nil {
			if err := c.ready(); err != nil {
				return nil, c.of.Broken(err)
			}
		}
		c.got = slices.Grow(c.got, 1<<10)
		n, err := syscall.Read(c.fd, c.got[len(c.got):cap(c.got)])
		switch {
		case err == syscall.EINTR:
		case err == nil && n == 0 && len(c.got) > 0:
			return nil, c.of.Broken(io.ErrUnexpectedEOF)
		case err == nil && n == 0:
			return nil, c.of.Broken(io.EOF)
		case err != nil:
			return nil, c.of.Broken(err)
		}
		c.got = c.got[:len(c.got)+max(n, 0)]
	}
}

func (c *conversation) close() { syscall.Close(c.fd) }
