package fdpass

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// pair gives the two ends of a connection.
func pair(t *testing.T) (near, far *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ends := make([]*net.UnixConn, 2)
	for i, fd := range fds {
		c, err := Conn(fd)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		ends[i] = c.(*net.UnixConn)
	}
	return ends[0], ends[1]
}

// pipes gives the writing ends of some pipes; read says whether one of them is open still.
func pipes(t *testing.T, n int) (writers []*os.File, open func(i int) bool) {
	t.Helper()
	var readers []*os.File
	for range n {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close(); w.Close() })
		readers, writers = append(readers, r), append(writers, w)
	}
	return writers, func(i int) bool {
		poll := []unix.PollFd{{Fd: int32(readers[i].Fd()), Events: unix.POLLIN}}
		_, err := unix.Poll(poll, 0)
		return err != nil || poll[0].Revents&unix.POLLHUP == 0
	}
}

// TestHandedOver: descriptors come with their line, and no more of them than are kept; the
// rest is closed here.
func TestHandedOver(t *testing.T) {
	near, far := pair(t)
	files, open := pipes(t, Most+3)
	if err := Send(near, []byte("line\n"), files...); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		f.Close()
	}
	r := &Reader{Conn: far}
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil || line != "line\n" {
		t.Fatalf("%q, %v", line, err)
	}
	got := r.Take()
	if len(got) != Most || r.Take() != nil {
		t.Fatalf("%d descriptors, want %d once", len(got), Most)
	}
	for i := range files {
		if open(i) != (i < Most) {
			t.Errorf("%d is open: %v", i, open(i))
		}
	}
	for _, f := range got {
		if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("it goes to programs that are started: %v", err)
		}
		f.Close()
	}
	for i := range files {
		if open(i) {
			t.Errorf("%d is open still", i)
		}
	}
}

// TestStopped: what comes later, or was not taken, is closed.
func TestStopped(t *testing.T) {
	near, far := pair(t)
	files, open := pipes(t, 2)
	r := &Reader{Conn: far}
	buf := make([]byte, 16)
	for i, f := range files {
		if err := Send(near, []byte("x"), f); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if _, err := r.Read(buf); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			r.Stop()
		}
	}
	if open(1) || !open(0) {
		t.Errorf("open: the first %v, the one after the stop %v", open(0), open(1))
	}
	r.Close()
	if open(0) {
		t.Error("what nobody took is open")
	}
	near.Close()
	if _, err := r.Read(buf); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

// TestStream: which descriptors may be handed in.
func TestStream(t *testing.T) {
	open := func(path string) *os.File {
		t.Helper()
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	pipe, _ := pipes(t, 1)
	near, _ := pair(t)
	socket, err := near.File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for _, c := range []struct {
		name string
		f    *os.File
		good bool
	}{
		{"pipe", pipe[0], true},
		{"/dev/null", open("/dev/null"), true},
		{"/dev/zero", open("/dev/zero"), false},
		{"directory", open("/"), false},
		{"file", open("/proc/self/exe"), false},
		{"socket", socket, false},
	} {
		if err := Stream(c.f); (err == nil) != c.good {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestCaller: the kernel says who is at the other end.
func TestCaller(t *testing.T) {
	near, _ := pair(t)
	if got := Caller(near); got != os.Getpid() {
		t.Errorf("%d, and this is %d", got, os.Getpid())
	}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if got := Caller(a); got != 0 {
		t.Errorf("of no socket: %d", got)
	}
}
