package main

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// sendWith sends a line with descriptors beside it.
func sendWith(conn *net.UnixConn, line []byte, files []*os.File) error {
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	var beside []byte
	if len(fds) > 0 {
		beside = unix.UnixRights(fds...)
	}
	_, _, err := conn.WriteMsgUnix(line, beside, nil)
	return err
}
