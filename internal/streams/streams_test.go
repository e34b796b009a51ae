package streams

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// pair is a connection of this machine's loopback.
func pair(t *testing.T) (a, b *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	one, err1 := net.Dial("tcp4", l.Addr().String())
	other, err2 := l.Accept()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { one.Close(); other.Close() })
	return one.(*net.TCPConn), other.(*net.TCPConn)
}

// joined are two muxes that carry to each other.
func joined(t *testing.T, accept func(string) (Conn, error)) (near, far *Mux) {
	t.Helper()
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	near, far = New(r2, w1, true, nil), New(r1, w2, false, accept)
	ended := make(chan error, 2)
	go func() { ended <- near.Serve() }()
	go func() { ended <- far.Serve() }()
	t.Cleanup(func() {
		w1.Close()
		w2.Close()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	return near, far
}

// TestCarried: bytes arrive as they are, in both directions, and each half ends by itself.
func TestCarried(t *testing.T) {
	client, end := pair(t)
	server, far := pair(t)
	said := make(chan string, 1)
	near, _ := joined(t, func(what string) (Conn, error) { said <- what; return far, nil })
	if err := near.Carry(end, "proxy"); err != nil {
		t.Fatal(err)
	}
	if what := <-said; what != "proxy" {
		t.Error(what)
	}
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<17)
	go func() {
		_, _ = client.Write(data)
		_ = client.CloseWrite()
	}()
	sum := sha256.New()
	n, err := io.Copy(sum, server)
	if want := sha256.Sum256(data); err != nil || n != int64(len(data)) || !bytes.Equal(sum.Sum(nil), want[:]) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if _, err := server.Write([]byte("answer")); err != nil {
		t.Error(err)
	}
	_ = server.CloseWrite()
	if got, err := io.ReadAll(client); err != nil || string(got) != "answer" {
		t.Errorf("%q %v", got, err)
	}
}

// TestOneThatIsNotRead: a connection without a reader holds up no other.
func TestOneThatIsNotRead(t *testing.T) {
	var fars []*net.TCPConn
	near, _ := joined(t, func(string) (Conn, error) {
		server, far := pair(t)
		fars = append(fars, server)
		if len(fars) == 2 {
			go func() { _, _ = io.Copy(server, server) }()
		}
		return far, nil
	})
	stuck, end := pair(t)
	if err := near.Carry(end, ""); err != nil {
		t.Fatal(err)
	}
	_ = stuck.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
	_, _ = stuck.Write(make([]byte, 64<<20))
	client, end := pair(t)
	if err := near.Carry(end, ""); err != nil {
		t.Fatal(err)
	}
	_, _ = client.Write([]byte("hello"))
	got := make([]byte, 5)
	_ = client.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.ReadFull(client, got); err != nil || string(got) != "hello" {
		t.Errorf("%q %v", got, err)
	}
}

// TestRules: the other side that breaks a rule ends all, and nothing is kept for it.
func TestRules(t *testing.T) {
	frame := func(id uint32, kind byte, length uint32, body []byte) []byte {
		buf := binary.BigEndian.AppendUint32(nil, id)
		return append(binary.BigEndian.AppendUint32(append(buf, kind), length), body...)
	}
	open := frame(1, kindOpen, 0, nil)
	var flood []byte
	for range window/maxChunk + 2 {
		flood = append(flood, frame(1, kindData, maxChunk, make([]byte, maxChunk))...)
	}
	for name, said := range map[string][]byte{
		"long":          frame(1, kindData, maxChunk+1, nil),
		"our number":    frame(2, kindOpen, 0, nil),
		"twice":         append(append([]byte{}, open...), open...),
		"kind":          append(append([]byte{}, open...), frame(1, 9, 0, nil)...),
		"taken":         append(append([]byte{}, open...), frame(1, kindTaken, 4, []byte{0, 0, 0, 1})...),
		"short number":  append(append([]byte{}, open...), frame(1, kindTaken, 1, []byte{0})...),
		"after the end": append(append(append([]byte{}, open...), frame(1, kindEnd, 0, nil)...), frame(1, kindData, 1, []byte{1})...),
	} {
		_, far := pair(t)
		m := New(bytes.NewReader(said), io.Discard, false, func(string) (Conn, error) { return far, nil })
		if err := m.Serve(); !errors.Is(err, errRules) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, far := pair(t)
	_ = far.SetWriteBuffer(1 << 10)
	m := New(bytes.NewReader(append(append([]byte{}, open...), flood...)), io.Discard, false, func(string) (Conn, error) { return stuckConn{far}, nil })
	if err := m.Serve(); !errors.Is(err, errRules) {
		t.Errorf("flood: %v", err)
	}
}

// stuckConn takes nothing until it is closed.
type stuckConn struct{ *net.TCPConn }

func (c stuckConn) Write([]byte) (int, error) {
	_, err := c.TCPConn.Read(make([]byte, 1))
	return 0, errors.Join(err, net.ErrClosed)
}
