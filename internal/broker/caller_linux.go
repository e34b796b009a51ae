package broker

import (
	"bytes"
	"errors"

	"golang.org/x/sys/unix"
)

// pathMax is PATH_MAX of linux/limits.h: a path with its NUL.
const pathMax = 4096

const pageSize = 4096 // a multiple or a divisor of every real page: reads stop at a hole either way

// text reads a path from the caller's memory, into buffer n. A text that runs
// into unmapped memory is EFAULT, one without an end ENAMETOOLONG.
func (w *worker) text(addr uint64, n int) (string, error) {
	buf := w.path[n][:]
	for done, size := 0, shortPath; done < len(buf); size = len(buf) - done {
		got, err := readMemory(w.call.TID, addr+uint64(done), buf[done:done+size])
		if err != nil {
			return "", err
		}
		if end := bytes.IndexByte(buf[done:done+got], 0); end >= 0 {
			return string(buf[:done+end]), nil
		}
		if done += got; got < size {
			return "", unix.EFAULT
		}
	}
	return "", unix.ENAMETOOLONG
}

// shortPath is how much is read of a path at first: most end in it.
const shortPath = 256

// errHidden is memory of a program that may be executed but not read, by a user
// whose it is not: only the host's root may look.
var errHidden = errors.New("the caller's memory is hidden")

// readMemory fills as much of buf as is mapped at addr.
func readMemory(tid uint32, addr uint64, buf []byte) (int, error) {
	first := min(len(buf), int(pageSize-addr%pageSize))
	local := []unix.Iovec{{Base: &buf[0]}}
	local[0].SetLen(len(buf))
	remote := []unix.RemoteIovec{{Base: uintptr(addr), Len: first}}
	if first < len(buf) {
		remote = append(remote, unix.RemoteIovec{Base: uintptr(addr) + uintptr(first), Len: len(buf) - first})
	}
	n, err := unix.ProcessVMReadv(int(tid), local, remote, 0)
	if err == unix.EPERM {
		return 0, errHidden
	}
	if err != nil {
		return 0, unix.EFAULT
	}
	return n, nil
}

// readExact reads all of buf or fails with EFAULT.
func readExact(tid uint32, addr uint64, buf []byte) error {
	for done := 0; done < len(buf); {
		n, err := readMemory(tid, addr+uint64(done), buf[done:])
		if err == nil && n == 0 {
			err = unix.EFAULT
		}
		if err != nil {
			return err
		}
		done += n
	}
	return nil
}

func writeMemory(tid uint32, addr uint64, buf []byte) error {
	local := []unix.Iovec{{Base: &buf[0]}}
	local[0].SetLen(len(buf))
	n, err := unix.ProcessVMWritev(int(tid), local, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(buf)}}, 0)
	if err != nil || n != len(buf) {
		return unix.EFAULT
	}
	return nil
}
