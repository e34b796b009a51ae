package dbus

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// sameUser refuses a bus that is not this user's: it would read what is told.
func sameUser(c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) { cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(err, credErr); err == nil && int(cred.Uid) != os.Geteuid() {
		err = fmt.Errorf("the bus is of user %d, not of %d", cred.Uid, os.Geteuid())
	}
	return err
}
