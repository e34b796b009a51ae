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

// memoryFile makes a sealed memory file holding b.
func memoryFile(name string, b []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(b); err != nil {
		f.Close()
		return nil, err
	}
	_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
