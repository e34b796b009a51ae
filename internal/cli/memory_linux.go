package cli

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// memoryFile makes a file that is nowhere but in memory.
func memoryFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("carrel", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making a file in memory: %w", err)
	}
	return os.NewFile(uintptr(fd), "clipboard"), nil
}
