package streams

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// socketPair is a connection of Unix sockets, as the supervisor has to what it serves.
func socketPair(t *testing.T) (a, b *net.UnixConn) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = c.(*net.UnixConn)
	}
	t.Cleanup(func() { ends[0].Close(); ends[1].Close() })
	return ends[0], ends[1]
}

// TestAnswerBeforeTheEnd: a server that answers the first line and closes, without reading the second, has
// given its answer, as over a socket.
func TestAnswerBeforeTheEnd(t *testing.T) {
	near, _ := joined(t, func(string) (Conn, error) {
		server, far := socketPair(t)
		go func() {
			line := make([]byte, 6)
			_, _ = io.ReadFull(server, line)
			_, _ = server.Write([]byte("refused\n"))
			server.Close()
		}()
		return far, nil
	})
	for i := range 300 {
		client, end := pair(t)
		if err := near.Carry(end, ""); err != nil {
			t.Fatal(err)
		}
		_, _ = client.Write([]byte("first\n"))
		if i%2 == 0 {
			time.Sleep(time.Duration(i) * time.Microsecond)
		}
		_, _ = client.Write([]byte("second\n"))
		_ = client.SetReadDeadline(time.Now().Add(20 * time.Second))
		got := make([]byte, 8)
		if n, err := io.ReadFull(client, got); err != nil {
			t.Fatalf("%d: %q, %v", i, got[:n], err)
		}
		client.Close()
	}
}

// TestCutAndNotRead: what came before a reset is not kept for one that never reads it.
func TestCutAndNotRead(t *testing.T) {
	client, end := socketPair(t)
	m := New(nil, io.Discard, true, nil)
	s := m.add(1, stuckWriter{end})
	s.start()
	for _, err := range []error{s.came([]byte("never read")), m.take(1, kindReset, nil), m.take(1, kindData, []byte("late"))} {
		if err != nil {
			t.Error(err)
		}
	}
	done := make(chan struct{})
	go func() { m.running.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(lastTime + 20*time.Second):
		t.Error("it is still there")
	}
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) || len(m.streams) > 0 {
		t.Errorf("%v, %d streams", err, len(m.streams))
	}
}

// stuckWriter takes nothing until it is closed.
type stuckWriter struct{ *net.UnixConn }

func (c stuckWriter) Write([]byte) (int, error) {
	_, err := c.UnixConn.Read(make([]byte, 1))
	return 0, errors.Join(err, net.ErrClosed)
}
