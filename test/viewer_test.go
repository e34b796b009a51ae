//go:build linux

package e2e

import (
	"crypto/des"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net"
	"time"
)

// viewer is the least that watches a display over VNC.
type viewer struct {
	net.Conn
	width, height int
	first         time.Duration // from connecting to the first picture
}

// errNoView is what a viewer shows its person.
type errNoView string

func (e errNoView) Error() string { return string(e) }

// view connects and waits for the first picture.
func view(address, password string) (*viewer, error) {
	began := time.Now()
	c, err := net.Dial("tcp4", address)
	if err != nil {
		return nil, err
	}
	v := &viewer{Conn: c}
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if err = v.enter(password); err == nil {
		err = v.look(false)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	v.first = time.Since(began)
	return v, nil
}

func (v *viewer) read(n int) ([]byte, error) {
	b := make([]byte, n)
	_, err := io.ReadFull(v, b)
	return b, err
}

func (v *viewer) reason() error {
	n, err := v.read(4)
	if err != nil {
		return err
	}
	text, err := v.read(int(binary.BigEndian.Uint32(n)))
	return errors.Join(errNoView(text), err)
}

func (v *viewer) enter(password string) error {
	hello, err := v.read(12)
	if err != nil {
		return err
	}
	_, _ = v.Write(hello)
	n, err := v.read(1)
	if err != nil {
		return err
	}
	if n[0] == 0 {
		return v.reason()
	}
	if types, err := v.read(int(n[0])); err != nil || types[0] != 2 {
		return fmt.Errorf("security %v, %w", types, err)
	}
	_, _ = v.Write([]byte{2})
	challenge, err := v.read(16)
	if err != nil {
		return err
	}
	key := make([]byte, 8)
	for i := range min(8, len(password)) {
		key[i] = bits.Reverse8(password[i])
	}
	block, err := des.NewCipher(key)
	if err != nil {
		return err
	}
	block.Encrypt(challenge, challenge)
	block.Encrypt(challenge[8:], challenge[8:])
	_, _ = v.Write(challenge)
	result, err := v.read(4)
	if err != nil {
		return err
	}
	if binary.BigEndian.Uint32(result) != 0 {
		return v.reason()
	}
	_, _ = v.Write([]byte{0})
	start, err := v.read(24)
	if err != nil {
		return err
	}
	v.width, v.height = int(binary.BigEndian.Uint16(start)), int(binary.BigEndian.Uint16(start[2:]))
	_, err = v.read(int(binary.BigEndian.Uint32(start[20:])))
	_, _ = v.Write([]byte{2, 0, 0, 1, 0, 0, 0, 0}) // pixels as they are
	return err
}

// look wants a picture, or what has changed since the last one.
func (v *viewer) look(changes bool) error {
	ask := []byte{3, 0, 0, 0, 0, 0}
	if changes {
		ask[1] = 1
	}
	ask = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(ask, uint16(v.width)), uint16(v.height))
	if _, err := v.Write(ask); err != nil {
		return err
	}
	head, err := v.read(4)
	if err != nil || head[0] != 0 {
		return fmt.Errorf("a message of type %d: %w", head[0], err)
	}
	for range binary.BigEndian.Uint16(head[2:]) {
		r, err := v.read(12)
		if err != nil {
			return err
		}
		if _, err := v.read(4 * int(binary.BigEndian.Uint16(r[4:])) * int(binary.BigEndian.Uint16(r[6:]))); err != nil {
			return err
		}
	}
	return nil
}

// types presses keys and lets them go.
func (v *viewer) types(text string) {
	for _, r := range text {
		sym := uint32(r)
		if r == '\n' {
			sym = 0xff0d
		}
		for _, down := range []byte{1, 0} {
			_, _ = v.Write(binary.BigEndian.AppendUint32([]byte{4, down, 0, 0}, sym))
		}
	}
}

// press holds a key down.
func (v *viewer) press(sym uint32) {
	_, _ = v.Write(binary.BigEndian.AppendUint32([]byte{4, 1, 0, 0}, sym))
}

// ends says that the other side ends the connection.
func (v *viewer) ends() bool {
	_ = v.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, err := io.Copy(io.Discard, v)
	var late net.Error
	return !errors.As(err, &late) || !late.Timeout()
}
