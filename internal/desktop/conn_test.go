package desktop

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"carrel/internal/desktop/wire"
)

func TestOpen(t *testing.T) {
	t.Setenv("XAUTHORITY", "/nonexistent") // never asked
	s := xvfb(t)
	d := s.open(t)
	if d.root == 0 || d.screen.WidthInPixels != 1920 || d.atom("_NET_WM_NAME") == 0 {
		t.Errorf("root %d, width %d, atom %d", d.root, d.screen.WidthInPixels, d.atom("_NET_WM_NAME"))
	}
	for _, e := range wire.Extensions {
		if _, err := d.opcode(e.Name); err != nil {
			t.Error(err)
		}
	}
	wrong := make([]byte, 16)
	for _, c := range [][]byte{wrong, nil, wrong[:3]} {
		if _, err := Open(t.Context(), s.dial, c); err == nil {
			t.Errorf("the cookie %v was good enough", c)
		} else if len(c) == 16 && !strings.Contains(err.Error(), "refused") {
			t.Errorf("refused with %q", err)
		}
	}
}

func TestOpenBounded(t *testing.T) {
	deaf := func(context.Context) (net.Conn, error) {
		a, b := net.Pipe()
		t.Cleanup(func() { b.Close() })
		go func() { b.Read(make([]byte, 100)) }()
		return a, nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, deaf, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a deaf server: %v", err)
	}
}

func TestServerDies(t *testing.T) {
	s := xvfb(t)
	d := s.open(t)
	s.kill()
	select {
	case <-d.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("nobody noticed")
	}
	if err := d.do(t.Context(), "asking", func() error { return nil }); !errors.Is(err, ErrGone) {
		t.Errorf("after the end: %v", err)
	}
}

func TestCloseTwice(t *testing.T) {
	d := xvfb(t).open(t)
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// counted is a connection with something of its owner's around it.
type counted struct{ *net.UnixConn }

func TestSharedMemoryThroughAWrapper(t *testing.T) {
	s := xvfb(t)
	d, err := Open(t.Context(), func(ctx context.Context) (net.Conn, error) {
		c, err := s.dial(ctx)
		if err != nil {
			return nil, err
		}
		return counted{c.(*net.UnixConn)}, nil
	}, s.cookie)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Screenshot(t.Context(), Shot{}); err != nil || len(d.shared.free) != 1 {
		t.Errorf("%d segments of shared memory after a picture, %v", len(d.shared.free), err)
	}
}
