package main

import (
	"io"
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

// Read implements [io.Reader].
func (w *withFiles) Read(b []byte) (int, error) {
	var beside [64]byte
	n, size, _, _, err := w.conn.ReadMsgUnix(b, beside[:])
	if messages, err := unix.ParseSocketControlMessage(beside[:size]); err == nil {
		for i := range messages {
			fds, _ := unix.ParseUnixRights(&messages[i]) // none else
			for _, fd := range fds {
				w.files = append(w.files, os.NewFile(uintptr(fd), "received"))
			}
		}
	}
	if n <= 0 && err == nil {
		err = io.EOF
	}
	return max(n, 0), err
}
