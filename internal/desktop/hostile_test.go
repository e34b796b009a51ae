package desktop

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/desktop/wiretest"
)

// liar is a real server's connection that replies to what has no reply.
type liar struct {
	net.Conn
	sent   uint16
	void   atomic.Uint32 // the request that gets a reply
	length uint32        // of that, in words
	out    []byte
	setup  atomic.Bool // over
}

const changeProperty = 18

func (l *liar) Write(b []byte) (int, error) {
	for rest := b; l.setup.Load() && len(rest) >= 4; {
		l.sent++
		if rest[0] == changeProperty {
			l.void.CompareAndSwap(0, uint32(l.sent))
		}
		rest = rest[min(4*int(binary.LittleEndian.Uint16(rest[2:])), len(rest)):]
	}
	return l.Conn.Write(b)
}

func (l *liar) Read(p []byte) (int, error) {
	if len(l.out) == 0 {
		if err := l.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.out)
	l.out = l.out[n:]
	return n, nil
}

// next reads a message, and puts a reply before the first that is later than the request.
func (l *liar) next() error {
	m := make([]byte, 32)
	if !l.setup.Load() {
		m = m[:8]
	}
	if _, err := io.ReadFull(l.Conn, m); err != nil {
		return err
	}
	var more int
	switch {
	case !l.setup.Load():
		more = 4 * int(binary.LittleEndian.Uint16(m[6:]))
	case m[0] == 1:
		more = 4 * int(binary.LittleEndian.Uint32(m[4:]))
	}
	m = append(m, make([]byte, more)...)
	if _, err := io.ReadFull(l.Conn, m[len(m)-more:]); err != nil {
		return err
	}
	l.out = m
	if void := uint16(l.void.Load()); l.setup.Swap(true) && m[0] == 1 && void != 0 && binary.LittleEndian.Uint16(m[2:]) == void+1 {
		l.out = append(wiretest.Answer(wiretest.Message(1, l.length, make([]byte, 4*l.length)...), void), m...)
	}
	return nil
}

// connections counts goroutines of the library's connections.
func connections() int {
	all := make([]byte, 8<<20)
	return strings.Count(string(all[:runtime.Stack(all, true)]), "xgb.(*Conn).")
}

// TestReplyToWhatHasNone: a server that replies to a request that has no reply loses the
// connection, and leaves nothing behind that runs or waits.
func TestReplyToWhatHasNone(t *testing.T) {
	s := xvfb(t)
	for _, length := range []uint32{0, 2, 1 << 20} {
		eventually(t, "those of other tests end", func() error { return count(0) })
		d, err := Open(t.Context(), func(ctx context.Context) (net.Conn, error) {
			c, err := s.dial(ctx)
			return &liar{Conn: c, length: length}, err
		}, s.cookie)
		if err != nil {
			t.Fatal(err)
		}
		if count(0) == nil {
			t.Fatal("canary: a connection has no goroutines")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err = d.SetRootText(ctx, "CARREL_TEST", "text")
		cancel()
		if !errors.Is(err, ErrGone) {
			t.Errorf("a reply of %d words: %v", length, err)
		}
		d.Close()
		eventually(t, "all goroutines end", func() error { return count(0) })
	}
}

func count(want int) error {
	if n := connections(); n != want {
		return errors.New("there are goroutines of connections")
	}
	return nil
}
