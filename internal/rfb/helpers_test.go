package rfb

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// pair is two ends of one TCP connection.
func pair(t testing.TB) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = net.Dial("tcp4", l.Addr().String()); err == nil {
		b, err = l.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// display is a VNC server that keeps what it is sent, and shows nothing.
type display struct {
	t  testing.TB
	mu sync.Mutex
	// said is what viewers have sent after the handshake, of all of them.
	said  []byte
	conns []net.Conn
	deny  error
}

func (d *display) dial(context.Context) (net.Conn, error) {
	if d.deny != nil {
		return nil, d.deny
	}
	near, far := pair(d.t)
	d.mu.Lock()
	d.conns = append(d.conns, far)
	d.mu.Unlock()
	go func() {
		defer far.Close()
		_, _ = io.WriteString(far, version)
		var in [14]byte
		if _, err := io.ReadFull(far, in[:12]); err != nil {
			return
		}
		_, _ = far.Write([]byte{1, securityNone})
		if _, err := io.ReadFull(far, in[12:13]); err != nil {
			return
		}
		_, _ = far.Write(make([]byte, 4))
		if _, err := io.ReadFull(far, in[13:]); err != nil {
			return
		}
		_, _ = io.WriteString(far, "picture")
		buf := make([]byte, 4096)
		for {
			n, err := far.Read(buf)
			d.mu.Lock()
			d.said = append(d.said, buf[:n]...)
			d.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return near, nil
}

func (d *display) got() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return bytes.Clone(d.said)
}

// watched is a service of a display, and what it told.
type watched struct {
	*Service
	*display
	addr string
	mu   sync.Mutex
	told []string
	mine bool
}

func serve(t testing.TB) *watched {
	t.Helper()
	w := &watched{display: &display{t: t}, mine: true}
	tell := func(s string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.told = append(w.told, s)
	}
	w.Service = New(Config{Dial: w.dial, Mine: func(net.Conn) bool { return w.mine }, Tell: tell, Refused: tell})
	l, err := Listen(0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.addr = l.Addr().String()
	go w.Serve(l)
	t.Cleanup(w.Close)
	return w
}

func (w *watched) admit(t testing.TB, acts bool) *Watch {
	t.Helper()
	one, err := w.Admit(acts)
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// errAway is a viewer's that was told a reason.
type errAway string

func (e errAway) Error() string { return string(e) }

// view connects as a viewer does, up to the first picture.
func (w *watched) view(t testing.TB, password string) (net.Conn, error) {
	t.Helper()
	c, err := net.Dial("tcp4", w.addr)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	b := make([]byte, 16)
	if _, err := io.ReadFull(c, b[:12]); err != nil {
		return nil, err
	}
	_, _ = io.WriteString(c, version)
	if _, err := io.ReadFull(c, b[:1]); err != nil {
		return nil, err
	}
	if b[0] == 0 {
		return nil, reason(c)
	}
	if _, err := io.ReadFull(c, b[:1]); err != nil || b[0] != securityVNC {
		return nil, errors.Join(errors.New("no password is asked for"), err)
	}
	_, _ = c.Write([]byte{securityVNC})
	if _, err := io.ReadFull(c, b); err != nil {
		return nil, err
	}
	answer := respond(password, [16]byte(b))
	_, _ = c.Write(answer[:])
	if _, err := io.ReadFull(c, b[:4]); err != nil {
		return nil, err
	}
	if binary.BigEndian.Uint32(b) != 0 {
		return nil, reason(c)
	}
	_, _ = c.Write([]byte{0})
	if _, err := io.ReadFull(c, b[:7]); err != nil || string(b[:7]) != "picture" {
		return nil, errors.Join(errors.New("no picture"), err)
	}
	return c, nil
}

func reason(c net.Conn) error {
	var n [4]byte
	if _, err := io.ReadFull(c, n[:]); err != nil {
		return err
	}
	text := make([]byte, binary.BigEndian.Uint32(n[:]))
	_, err := io.ReadFull(c, text)
	return errors.Join(errAway(text), err)
}

func away(t testing.TB, err error, why string) {
	t.Helper()
	var a errAway
	if !errors.As(err, &a) || !strings.Contains(string(a), why) {
		t.Errorf("turned away with %v, want %q", err, why)
	}
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within ten seconds", what)
		}
	}
}

func key(sym uint32, down bool) []byte {
	b := []byte{keyEvent, 0, 0, 0}
	if down {
		b[1] = 1
	}
	return binary.BigEndian.AppendUint32(b, sym)
}

func pointer(buttons byte, x, y uint16) []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16([]byte{pointerEvent, buttons}, x), y)
}

func encodings(list ...int32) []byte {
	b := binary.BigEndian.AppendUint16([]byte{setEncodings, 0}, uint16(len(list)))
	for _, e := range list {
		b = binary.BigEndian.AppendUint32(b, uint32(e))
	}
	return b
}

// wanted is a request for the whole of a screen.
var wanted = []byte{updateRequest, 1, 0, 0, 0, 0, 7, 128, 4, 56}
