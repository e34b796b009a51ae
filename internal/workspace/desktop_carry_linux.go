package workspace

import (
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"carrel/internal/xvfb"
)

// The seam of the X11 filter: what is below answers for the socket that programs
// inside connect to, and only swaps the cookies. The filter takes its place.

// Bounds on clients of a display.
const (
	maxDesktopClients = 256
	desktopHandshake  = 10 * time.Second
)

// accept takes connections until the display ends.
func (d *desktop) accept() {
	slots := make(chan struct{}, maxDesktopClients)
	for {
		conn, err := d.x.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(acceptPause)
			continue
		}
		select {
		case slots <- struct{}{}:
			go func() {
				defer func() { <-slots }()
				d.carry(conn)
			}()
		default:
			conn.Close()
		}
	}
}

// carry brings one client to the server.
func (d *desktop) carry(client net.Conn) {
	defer client.Close()
	_ = client.SetDeadline(time.Now().Add(desktopHandshake))
	setup, err := swapCookie(client, d.inner, d.cookie)
	if err != nil {
		return
	}
	server, err := d.Dial(d.ctx)
	if err != nil {
		return
	}
	defer server.Close()
	_ = client.SetDeadline(time.Time{})
	if _, err := server.Write(setup); err != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(server, client)
		server.Close()
	}()
	_, _ = io.Copy(client, server)
	client.Close()
	<-done
}

// swapCookie reads a client's setup request and gives it with the server's cookie
// in place of the inside's. The format is the X protocol's, "Connection Setup".
func swapCookie(from io.Reader, inside, real []byte) ([]byte, error) {
	var head [12]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return nil, err
	}
	var order binary.ByteOrder
	switch head[0] {
	case 'l':
		order = binary.LittleEndian
	case 'B':
		order = binary.BigEndian
	default:
		return nil, fmt.Errorf("byte order %q is none", head[0])
	}
	pad := func(n int) int { return (n + 3) &^ 3 }
	names, data := int(order.Uint16(head[6:])), int(order.Uint16(head[8:]))
	if names != len(xvfb.AuthName) || data != xvfb.CookieSize {
		return nil, errors.New("no cookie")
	}
	rest := make([]byte, pad(names)+pad(data))
	if _, err := io.ReadFull(from, rest); err != nil {
		return nil, err
	}
	cookie := rest[pad(names):][:data]
	if string(rest[:names]) != xvfb.AuthName || subtle.ConstantTimeCompare(cookie, inside) != 1 {
		return nil, errors.New("a wrong cookie")
	}
	copy(cookie, real)
	return append(head[:], rest...), nil
}
