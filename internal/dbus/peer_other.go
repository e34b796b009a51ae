//go:build !linux

package dbus

import (
	"errors"
	"net"
)

// sameUser is not supported here.
func sameUser(*net.UnixConn) error { return errors.New("not supported here") }
