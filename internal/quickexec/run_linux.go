package quickexec

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"carrel/internal/registry"
	"carrel/internal/stdio"
)

// Run runs a command with this process's standard descriptors, and returns when it has ended.
func Run(w Workspace, c Command) Result {
	r := Result{Workspace: w.ID}
	files, err := stdio.New([3]*os.File{os.Stdin, os.Stdout, os.Stderr}, true)
	if err != nil {
		r.Err = err
		return r
	}
	signals, started := stdio.HoldSignals(), make(chan func(syscall.Signal) error, 1)
	defer signals.Stop()
	signals.PassOn(started)
	talk, err := w.open(execLine(w.Ceiling, c), files.Files[:]...)
	if err != nil {
		files.Abandon()
		r.Err = err
		return r
	}
	defer talk.close()
	files.Started()
	line, err := talk.next()
	if err != nil || !more(line) {
		files.Abandon()
		r.Last, r.Err = line, err
		return r
	}
	started <- func(s syscall.Signal) error {
		go w.leaveStill(s)
		return talk.send(signalLine(int(s)))
	}
	for err == nil && more(line) {
		line, err = talk.next()
	}
	files.Settle()
	lost := files.Finish()
	if r.Last, r.Err = line, err; err == nil {
		r.Err = lost
	}
	return r
}

// more reports whether a line of an answer is not its last.
func more(line []byte) bool { return string(field(line, "more")) == "true" }

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
	talk, err := w.open(statusLine(w.Ceiling))
	if err != nil {
		return
	}
	defer talk.close()
	line, err := talk.next()
	if err != nil || string(fields(line, "status", "control", "mode")) != `"paused"` {
		return
	}
	fmt.Fprintf(os.Stderr, "carrel: %s is paused, and so is the command: it is ended\nhint: carrel control %s active\n", w.Name, w.Name)
	stdio.DieBy(s)
}

// conversation is a connection to a supervisor, by calls that block.
type conversation struct {
	of  registry.Listener
	fd  int
	got []byte
}

// open sends a request with descriptors beside it.
func (w Workspace) open(line []byte, files ...*os.File) (*conversation, error) {
	fd, err := w.Connect(nil)
	if err != nil {
		return nil, err
	}
	c := &conversation{of: w.Listener, fd: fd}
	limit := syscall.NsecToTimeval(registry.SendTime.Nanoseconds())
	if err = syscall.SetNonblock(fd, false); err == nil {
		err = syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_SNDTIMEO, &limit)
	}
	if err == nil {
		err = c.send(line, files...)
	}
	if err != nil {
		c.close()
		return nil, w.Broken(err)
	}
	return c, nil
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
		var part [4 << 10]byte
		n, err := syscall.Read(c.fd, part[:])
		switch {
		case err == syscall.EINTR:
		case err == nil && n == 0 && len(c.got) > 0:
			return nil, c.of.Broken(io.ErrUnexpectedEOF)
		case err == nil && n == 0:
			return nil, c.of.Broken(io.EOF)
		case err != nil:
			return nil, c.of.Broken(err)
		}
		c.got = append(c.got, part[:max(n, 0)]...)
	}
}

func (c *conversation) close() { syscall.Close(c.fd) }
