package memfile

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// allSeals keep a file as it is, fcntl(2).
const allSeals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE

// New makes an empty file to write to. The name is what /proc says of the descriptor.
func New(name string) (*os.File, error) { return create(name, 0) }

// Sealed makes a file with a content that no process can change any more. Its offset is at
// the beginning.
func Sealed(name string, content []byte) (*os.File, error) {
	f, err := create(name, unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	if _, err = f.WriteAt(content, 0); err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, allSeals)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("filling a file in memory: %w", err)
	}
	return f, nil
}

func create(name string, flags int) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|flags)
	if err != nil {
		return nil, fmt.Errorf("making a file in memory: %w", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// IsSealed reports whether the content of a descriptor cannot change. Its error is that
// there is no such descriptor.
func IsSealed(fd int) (bool, error) {
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err == unix.EBADF {
		return false, err
	}
	return err == nil && seals&allSeals == allSeals, nil
}
