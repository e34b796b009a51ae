package guest

import (
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// End is what a stream carries at one side: an end of a pipe, of a terminal or of a socket.
type End struct {
	noAddress
	In, Out *os.File // read from and written to; nil for none, or the same
	// Whole says that nothing is read any more either, where no more is written.
	Whole bool

	mu    sync.Mutex
	owing int // bytes that were read, and that the other side has not taken
}

// NewEnd takes a descriptor over, which it makes non-blocking: its open file is no one else's.
func NewEnd(fd int, in, out bool) *End {
	_ = unix.SetNonblock(fd, true)
	f := os.NewFile(uintptr(fd), "carried")
	e := &End{Whole: in && out}
	if in {
		e.In = f
	}
	if out {
		e.Out = f
	}
	return e
}

func (e *End) file() *os.File {
	if e.In != nil {
		return e.In
	}
	return e.Out
}

// Read implements [io.Reader]. Of what is only written to it waits until there is no reader.
func (e *End) Read(b []byte) (n int, err error) {
	raw, err := e.file().SyscallConn()
	if err != nil {
		return 0, io.EOF // it was closed
	}
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		if e.In == nil {
			failed = unix.EPIPE
			return ready(int(fd), 0)&unix.POLLERR != 0
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		n, failed = unix.Read(int(fd), b)
		e.owing += max(n, 0)
		return failed != unix.EAGAIN && failed != unix.EINTR
	})
	switch {
	case err != nil || failed == unix.EIO: // closed here, or a terminal without another end
		return 0, io.EOF
	case failed != nil:
		return 0, failed
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// ready asks what can be done with a descriptor now.
func ready(fd int, events int16) int16 {
	fds := []unix.PollFd{{Fd: int32(fd), Events: events}}
	if _, err := unix.Poll(fds, 0); err != nil {
		return 0
	}
	return fds[0].Revents
}

// Resize gives a terminal another size.
func (e *End) Resize(columns, rows uint16) {
	if raw, err := e.file().SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows})
		})
	}
}

// Taken implements [streams.Counted].
func (e *End) Taken(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.owing -= n
}

// Drained says whether all that was written for this end has come to the other side.
func (e *End) Drained() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	raw, err := e.file().SyscallConn()
	if err != nil {
		return true
	}
	waits := false
	if err := raw.Control(func(fd uintptr) { waits = ready(int(fd), unix.POLLIN)&unix.POLLIN != 0 }); err != nil {
		return true // it was closed
	}
	return !waits && e.owing <= 0
}

// Write implements [io.Writer].
func (e *End) Write(b []byte) (int, error) {
	if e.Out == nil {
		return 0, io.ErrClosedPipe
	}
	return e.Out.Write(b)
}

// CloseWrite implements [streams.Conn].
func (e *End) CloseWrite() error {
	switch {
	case e.Out == nil:
		return nil
	case e.Out != e.In || e.Whole:
		return e.Out.Close()
	}
	raw, err := e.Out.SyscallConn()
	if err != nil {
		return err
	}
	return errors.Join(raw.Control(func(fd uintptr) { err = unix.Shutdown(int(fd), unix.SHUT_WR) }), err)
}

// Close implements [net.Conn].
func (e *End) Close() error {
	err := e.file().Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// shared is an open file that other processes have, too: whether it blocks is theirs.
type shared struct {
	noAddress
	kind       byte
	fd, cancel int // an eventfd

	mu     sync.Mutex
	calls  int
	closed bool
}

// atomicWrite is PIPE_BUF of linux/limits.h.
const atomicWrite = 4096

func newShared(fd int, kind byte) (*shared, error) {
	cancel, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &shared{kind: kind, fd: fd, cancel: cancel}, nil
}

// use counts the calls that use the descriptors, which are closed after the last one.
func (s *shared) use(n int, closes bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed && n >= 0 {
		return false
	}
	s.calls += n
	if closes {
		s.closed = true
		_, _ = unix.Write(s.cancel, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
	if s.closed && s.calls == 0 {
		unix.Close(s.fd)
		unix.Close(s.cancel)
	}
	return true
}

// do tries a call until it does not block, or the file is closed.
func (s *shared) do(events int16, call func() (int, error)) (int, error) {
	if !s.use(1, false) {
		return 0, io.EOF
	}
	defer s.use(-1, false)
	fds := []unix.PollFd{{Fd: int32(s.fd), Events: events}, {Fd: int32(s.cancel), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); err != nil && err != unix.EINTR {
			return 0, err
		}
		if fds[1].Revents != 0 {
			return 0, io.EOF
		}
		if n, err := call(); err != unix.EAGAIN && err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// Read implements [io.Reader].
func (s *shared) Read(b []byte) (int, error) {
	events, call := int16(unix.POLLIN), func() (int, error) {
		n, _, err := unix.Recvfrom(s.fd, b, unix.MSG_DONTWAIT)
		return n, err
	}
	switch s.kind {
	case Output: // poll tells without a question that it has no reader any more
		events, call = 0, func() (int, error) { return 0, unix.EPIPE }
	case Input, Terminal:
		call = func() (int, error) { return unix.Read(s.fd, b) }
	}
	n, err := s.do(events, call)
	if err == nil && n == 0 || err == unix.EIO {
		err = io.EOF
	}
	return n, err
}

// Write implements [io.Writer].
func (s *shared) Write(b []byte) (done int, err error) {
	for done < len(b) && err == nil {
		var n int
		n, err = s.do(unix.POLLOUT, func() (int, error) {
			if s.kind != Socket { // so much never blocks, where poll has said that there is room
				return unix.Write(s.fd, b[done:min(len(b), done+atomicWrite)])
			}
			return unix.SendmsgN(s.fd, b[done:], nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		})
		done += n
	}
	return done, err
}

// CloseWrite implements [streams.Conn]: the command has let go of it.
func (s *shared) CloseWrite() error { return s.Close() }

// Close implements [net.Conn].
func (s *shared) Close() error {
	s.use(0, true)
	return nil
}
