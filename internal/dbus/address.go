package dbus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"strings"
)

const maxAddress = 4096 // bytes of a bus address; real ones have about 80

// errAddress is an address that is not of the form that D-Bus gives them.
var errAddress = errors.New("is not well-formed")

// Socket returns the first Unix socket of a bus address, such as
// "unix:path=/run/user/1000/bus,guid=..." (D-Bus specification, Server Addresses), as
// package net names it: abstract ones begin with @. Those belong to a network namespace
// and are passed over where abstract is false. Nothing is started for an address.
func Socket(address string, abstract bool) (string, error) {
	if len(address) > maxAddress {
		return "", fmt.Errorf("a bus address of %d bytes, want at most %d", len(address), maxAddress)
	}
	for one := range strings.SplitSeq(address, ";") {
		rest, ok := strings.CutPrefix(one, "unix:")
		if !ok {
			continue
		}
		for pair := range strings.SplitSeq(rest, ",") {
			key, value, _ := strings.Cut(pair, "=")
			at, err := url.PathUnescape(value)
			if err != nil || strings.ContainsRune(at, 0) {
				return "", fmt.Errorf("bus address %q %w", address, errAddress)
			}
			switch {
			case key == "path" && !path.IsAbs(at):
				return "", fmt.Errorf("bus address %q: %q is no absolute path", address, at)
			case key == "path":
				return at, nil
			case key == "abstract" && abstract && at != "":
				return "@" + at, nil
			}
		}
	}
	return "", fmt.Errorf("bus address %q names no Unix socket", address)
}

// EscapeAddress writes a path as a value of a bus address: what is not plain by the
// specification as %XX.
func EscapeAddress(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-/.\\*", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}

// Dial connects to the bus behind a socket that [Socket] gave. A bus of another user
// would read what it is told, so it is refused.
func Dial(ctx context.Context, socket string) (*Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	if err := sameUser(c.(*net.UnixConn)); err != nil {
		c.Close()
		return nil, err
	}
	return Connect(ctx, c)
}
