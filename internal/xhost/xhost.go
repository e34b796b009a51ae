// Package xhost finds the X display that a person sits at: what DISPLAY says, and the
// cookie that XAUTHORITY or ~/.Xauthority has for it. Only this machine's displays are
// reached, and what ssh brings to one of its ports.
//
// It dials and speaks no protocol; desktop does.
package xhost

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxAuthority bounds the file with a person's cookies, in bytes.
const maxAuthority = 1 << 20

// Named gives what leads to the display that a person's own variables name: DISPLAY,
// and XAUTHORITY or ~/.Xauthority for its cookie, which is nil where there is none, as
// the server may ask for none. Displays of other machines are refused, but for those
// that ssh brings to a port of this one.
func Named(getenv func(string) string) (func(context.Context) (net.Conn, error), []byte, error) {
	name := getenv("DISPLAY")
	if name == "" {
		return nil, nil, errors.New("DISPLAY is not set")
	}
	host, number, err := displayName(name)
	if err != nil {
		return nil, nil, err
	}
	file := getenv("XAUTHORITY")
	if file == "" && getenv("HOME") != "" {
		file = filepath.Join(getenv("HOME"), ".Xauthority")
	}
	cookie, err := cookieFrom(file, number)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		if host != "" {
			return d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(6000+number)))
		}
		path := "/tmp/.X11-unix/X" + strconv.Itoa(number)
		c, err := d.DialContext(ctx, "unix", path)
		if err != nil { // some servers have the abstract name only
			if other, e := d.DialContext(ctx, "unix", "@"+path); e == nil {
				return other, nil
			}
		}
		return c, err
	}, cookie, nil
}

// displayName reads HOST:NUMBER.SCREEN; see X(7).
func displayName(name string) (host string, number int, err error) {
	wrong := fmt.Errorf("DISPLAY %.60q: want :NUMBER, or localhost:NUMBER as ssh gives it", name)
	at := strings.LastIndexByte(name, ':')
	if at < 0 {
		return "", 0, wrong
	}
	host = name[:at]
	digits, _, _ := strings.Cut(name[at+1:], ".")
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n > 59535 { // beyond, there is no port
		return "", 0, wrong
	}
	switch host {
	case "", "unix":
		return "", int(n), nil
	case "localhost", "127.0.0.1", "[::1]":
		return strings.Trim(host, "[]"), int(n), nil
	}
	return "", 0, wrong
}

// cookieFrom reads the cookie of a local display from a file of xauth(1).
func cookieFrom(file string, number int) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil // a server without cookies, or its own refusal will say it
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file: no cookie is read from there", file)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxAuthority+1))
	if err == nil && len(b) > maxAuthority {
		err = fmt.Errorf("more than %d bytes", maxAuthority)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the cookies of %s: %w", file, err)
	}
	here, _ := os.Hostname()
	return findCookie(b, here, strconv.Itoa(number)), nil
}

// findCookie looks through a file of cookies (Xau(3): a family of two bytes, big-endian,
// then address, number, name and data, each with its length) for that of a display of
// the machine of this name. A file that ends too early ends the search.
func findCookie(b []byte, host, number string) []byte {
	const local, wild = 256, 65535
	next := func() (part []byte, ok bool) {
		if len(b) < 2 {
			return nil, false
		}
		n := int(binary.BigEndian.Uint16(b))
		if len(b) < 2+n {
			return nil, false
		}
		part, b = b[2:2+n], b[2+n:]
		return part, true
	}
	for len(b) >= 2 {
		family := binary.BigEndian.Uint16(b)
		b = b[2:]
		var parts [4][]byte
		for i := range parts {
			var ok bool
			if parts[i], ok = next(); !ok {
				return nil
			}
		}
		mine := family == wild || family == local && string(parts[0]) == host
		if mine && (len(parts[1]) == 0 || string(parts[1]) == number) && string(parts[2]) == "MIT-MAGIC-COOKIE-1" && len(parts[3]) == 16 {
			return bytes.Clone(parts[3])
		}
	}
	return nil
}
