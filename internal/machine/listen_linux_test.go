package machine

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"carrel/internal/fdpass"
	"carrel/internal/streams"
)

// TestCarriedConnections: what comes from a machine comes to the listener of its address; nothing
// of this host is known to be at its other end, and what no one listens for is refused.
func TestCarriedConnections(t *testing.T) {
	ctx := context.Background()
	r := &Run{Dial: func(context.Context, uint16) (interface {
		net.Conn
		CloseWrite() error
	}, error,
	) {
		return nil, errors.New("not listed")
	}}
	for _, address := range []string{"/run/carrel/x.sock", "127.0.0.1:7"} {
		l := r.Listen(address)
		far := make(chan streams.Conn, 1)
		go func() {
			c, err := r.accept(ctx, address)
			if err != nil {
				t.Error(err)
			}
			far <- c
		}()
		near, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		other := <-far
		if at := near.LocalAddr(); at.String() != address || fdpass.Caller(near) != 0 {
			t.Errorf("%s: at %s, of process %d", address, at, fdpass.Caller(near))
		}
		if _, passes := near.(*net.UnixConn); passes {
			t.Errorf("%s passes descriptors", address)
		}
		_, _ = other.Write([]byte("text"))
		_ = other.CloseWrite()
		if got, err := io.ReadAll(near); err != nil || string(got) != "text" {
			t.Errorf("%s: %q %v", address, got, err)
		}
		near.Close()
		other.Close()
		l.Close()
		if _, err := r.accept(ctx, address); err == nil {
			t.Errorf("%s: accepted after the end", address)
		}
	}
	for _, address := range []string{"/run/other.sock", "22", "x", ""} {
		if _, err := r.accept(ctx, address); err == nil {
			t.Errorf("%q is accepted", address)
		}
	}
	if _, err := r.DialInside(ctx, netip.MustParseAddrPort("127.0.0.1:3000")); err == nil {
		t.Error("a machine that is not there was dialled")
	}
}

// TestListenerThatDoesNotAccept: so many connections wait, and further ones are refused at once; at
// the end none of them is left.
func TestListenerThatDoesNotAccept(t *testing.T) {
	ctx, r := context.Background(), &Run{}
	l := r.Listen("/run/carrel/x.sock")
	var fars []streams.Conn
	for range backlog {
		far, err := r.accept(ctx, "/run/carrel/x.sock")
		if err != nil {
			t.Fatal(err)
		}
		defer far.Close()
		fars = append(fars, far)
	}
	refused := make(chan error, 1)
	go func() {
		_, err := r.accept(ctx, "/run/carrel/x.sock")
		refused <- err
	}()
	select {
	case err := <-refused:
		if err == nil {
			t.Error("one more was taken")
		}
	case <-time.After(5 * time.Second):
		t.Fatal("one more holds up all others")
	}
	l.Close()
	for i, far := range fars {
		_ = far.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := far.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Fatalf("connection %d is left: %v", i, err)
		}
	}
}
