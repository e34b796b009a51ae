package mcpserver

import (
	"os"

	"golang.org/x/sys/unix"
)

// inMemory gives a file with content, read from its beginning.
func inMemory(content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("carrel", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "content")
	if _, err := f.WriteAt(content, 0); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
