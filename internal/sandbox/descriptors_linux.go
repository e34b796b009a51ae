package sandbox

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// control runs a blocking call on the control socket; EINTR starts it again.
func control(f *os.File, call func(int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	err = conn.Control(func(fd uintptr) {
		for {
			if result = call(int(fd)); result != unix.EINTR {
				return
			}
		}
	})
	return errors.Join(err, result)
}

// Rights gives the descriptors that came with a message of the control socket.
func Rights(oob []byte) []int {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	var fds []int
	for i := range messages {
		if r, err := unix.ParseUnixRights(&messages[i]); err == nil {
			fds = append(fds, r...)
		}
	}
	return fds
}
