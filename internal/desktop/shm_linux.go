package desktop

import (
	"os"

	"golang.org/x/sys/unix"
)

// newMemory makes memory that another process can map by its descriptor. It
// cannot be cut: reading what a server cut from under us would be a fault.
func newMemory(size int) (*os.File, []byte, error) {
	fd, err := unix.MemfdCreate("carrel-picture", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "picture")
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		f.Close()
		return nil, nil, os.NewSyscallError("ftruncate", err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		f.Close()
		return nil, nil, os.NewSyscallError("sealing", err)
	}
	m, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		f.Close()
		return nil, nil, os.NewSyscallError("mmap", err)
	}
	return f, m, nil
}

func freeMemory(m []byte) { unix.Munmap(m) }
