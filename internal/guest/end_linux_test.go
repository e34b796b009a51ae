package guest

import (
	"errors"
	"io"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pipe gives the two ends of a pipe.
func pipe(t *testing.T) (r, w int) {
	t.Helper()
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	return fds[0], fds[1]
}

// inTime gives what a call ends with.
func inTime(t *testing.T, what string, call func() error) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- call() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(5 * time.Second):
		t.Fatalf("%s does not end", what)
		return nil
	}
}

// TestEndOfAPipe: an end that is only written to says when it has no reader; one that is read has
// drained when all of it was taken; a caller's own descriptor stays as it was.
func TestEndOfAPipe(t *testing.T) {
	r, w := pipe(t)
	c, err := open(w, Output)
	if err != nil {
		t.Fatal(err)
	}
	if flags, err := unix.FcntlInt(uintptr(w), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK != 0 {
		t.Errorf("the caller's: %#x %v", flags, err)
	}
	unix.Close(w)
	time.AfterFunc(20*time.Millisecond, func() { unix.Close(r) })
	if err := inTime(t, "a pipe without a reader", func() error { _, err := c.Read(make([]byte, 1)); return err }); !errors.Is(err, unix.EPIPE) {
		t.Errorf("without a reader: %v", err)
	}
	c.Close()
	r, w = pipe(t)
	e := NewEnd(r, true, false)
	defer e.Close()
	if _, err := unix.Write(w, []byte("four")); err != nil || e.Drained() {
		t.Errorf("%v; drained with four bytes in it", err)
	}
	if n, err := e.Read(make([]byte, 8)); n != 4 || err != nil || e.Drained() {
		t.Errorf("%d %v; drained before it was taken", n, err)
	}
	if e.Taken(4); !e.Drained() {
		t.Error("not drained")
	}
	if _, err := e.Write([]byte("x")); err == nil {
		t.Error("the reading end was written to")
	}
	unix.Close(w)
	if _, err := e.Read(make([]byte, 8)); err != io.EOF || !e.Drained() {
		t.Errorf("at its end: %v", err)
	}
}

// TestPipeWithoutAReader: a command finds out that its output has no reader any more.
func TestPipeWithoutAReader(t *testing.T) {
	r, w := pipe(t)
	unix.Close(r)
	defer unix.Close(w)
	c, err := open(w, Output)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("x")); !errors.Is(err, unix.EPIPE) {
		t.Errorf("%v", err)
	}
}

// TestSharedSocket: a socket that others have is never made non-blocking, and a call that waits at
// it ends with it.
func TestSharedSocket(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	c, err := open(fds[1], Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[1])
	if flags, err := unix.FcntlInt(uintptr(fds[1]), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK != 0 {
		t.Errorf("the caller's: %#x %v", flags, err)
	}
	if _, err := unix.Write(fds[0], []byte("in")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 8)
	if n, err := c.Read(buf); string(buf[:n]) != "in" || err != nil {
		t.Errorf("%q %v", buf[:n], err)
	}
	if _, err := c.Write([]byte("out")); err != nil {
		t.Error(err)
	}
	if n, err := unix.Read(fds[0], buf); string(buf[:n]) != "out" || err != nil {
		t.Errorf("%q %v", buf[:n], err)
	}
	time.AfterFunc(20*time.Millisecond, func() { _ = c.CloseWrite() }) // the command has let go of it
	if err := inTime(t, "a socket that is closed", func() error { _, err := c.Read(buf); return err }); err != io.EOF {
		t.Errorf("after its end: %v", err)
	}
	full := func() error {
		for {
			if _, err := c.Write(make([]byte, 1<<16)); err != nil {
				return err
			}
		}
	}
	if err := inTime(t, "a write after that", full); err != io.EOF {
		t.Errorf("a write after that: %v", err)
	}
}

// TestSharedPipe: where a pipe cannot be opened once more, as another user's, it is used as it is.
func TestSharedPipe(t *testing.T) {
	r, w := pipe(t)
	in, err1 := share(r, Input)
	out, err2 := share(w, Output)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	unix.Close(w)
	const size = 1 << 20
	got := make(chan int, 1)
	go func() {
		n, _ := io.Copy(io.Discard, in)
		got <- int(n)
	}()
	if n, err := out.Write(make([]byte, size)); n != size || err != nil {
		t.Errorf("%d bytes were written: %v", n, err)
	}
	if err := out.CloseWrite(); err != nil {
		t.Error(err)
	}
	if err := inTime(t, "what is read", func() error {
		if n := <-got; n != size {
			t.Errorf("%d bytes were read", n)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	unix.Close(r)
	r, w = pipe(t)
	if out, err1 = share(w, Output); err1 != nil {
		t.Fatal(err1)
	}
	defer out.Close()
	unix.Close(w)
	time.AfterFunc(20*time.Millisecond, func() { unix.Close(r) })
	if err := inTime(t, "a pipe without a reader", func() error { _, err := out.Read(make([]byte, 1)); return err }); !errors.Is(err, unix.EPIPE) {
		t.Errorf("without a reader: %v", err)
	}
}

// TestPipeOfAnotherUser: a process that became another user has the descriptors that it was given.
func TestPipeOfAnotherUser(t *testing.T) {
	if unix.Getuid() != 0 {
		t.Skip("to become another user takes root")
	}
	r, w := pipe(t)
	defer unix.Close(r)
	defer unix.Close(w)
	ended := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and the thread ends with its user
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, 65534, 65534, 65534); e != 0 {
			ended <- e
			return
		}
		c, err := open(w, Output)
		if err == nil {
			_, err = c.Write([]byte("said"))
			c.Close()
		}
		ended <- err
	}()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 8)
	if n, err := unix.Read(r, buf); string(buf[:n]) != "said" || err != nil {
		t.Errorf("%q %v", buf[:n], err)
	}
}

// TestAbandon: both ends of the control socket are closed, whether the stream was served or not.
func TestAbandon(t *testing.T) {
	for _, served := range []bool{false, true} {
		h, err := New()
		if err != nil {
			t.Fatal(err)
		}
		if served {
			ours, theirs := pair(t)
			theirs.Close()
			_ = h.Serve(ours, ours) // which ends at once
		}
		h.Abandon()
		if _, err := h.Control().Stat(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("served %t: the near end: %v", served, err)
		}
		if err := h.far.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("served %t: the far end: %v", served, err)
		}
	}
}
