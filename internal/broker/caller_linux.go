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
	if w.ahead[n].addr != addr {
		w.ahead[n] = ahead{}
	}
	for searched, done := 0, w.ahead[n].size; ; {
		if end := bytes.IndexByte(buf[searched:done], 0); end >= 0 {
			return string(buf[:searched+end]), nil
		}
		if searched = done; done == len(buf) {
			return "", unix.ENAMETOOLONG
		}
		got, err := w.readMemory(addr+uint64(done), buf[done:done+part(addr, done)])
		if err != nil {
			return "", err
		}
		done += got
	}
}

// ahead is what a buffer holds already of the text at an address.
type ahead struct {
	addr uint64
	size int
}

// fetch reads the beginnings of two texts or structures of a call at once, for text and
// readExact. What cannot be read is left to them.
func (w *worker) fetch(addr0, addr1 uint64) {
	first, second := part(addr0, 0), part(addr1, 0)
	w.local[0].Base, w.local[1].Base = &w.path[0][0], &w.path[1][0]
	w.local[0].SetLen(first)
	w.local[1].SetLen(second)
	n, err := unix.ProcessVMReadv(int(w.call.TID), w.local[:2], addRemote(addRemote(w.remote[:0], addr0, first), addr1, second), 0)
	if err == nil {
		w.ahead = [2]ahead{{addr0, min(n, first)}, {addr1, max(0, n-first)}}
	}
}

const (
	shortPath = 256 // how much is read of a path at first: most end in it
	leastPart = 64  // a rest of a page that is shorter is not worth a read of its own
)

// part is how much of a path is read next: to the end of a page, as another page
// takes as long to reach as the whole rest.
func part(addr uint64, done int) int {
	size := shortPath
	if done >= shortPath {
		size = pathMax - done
	}
	if rest := toPageEnd(addr + uint64(done)); rest >= leastPart {
		size = min(size, rest)
	}
	return min(size, pathMax-done)
}

func toPageEnd(addr uint64) int { return int(pageSize - addr%pageSize) }

// errHidden is memory of a program that may be executed but not read, by a user
// whose it is not: only the host's root may look.
var errHidden = errors.New("the caller's memory is hidden")

// readMemory fills as much of buf as is mapped at addr, which is something.
func (w *worker) readMemory(addr uint64, buf []byte) (int, error) {
	w.local[0].Base = &buf[0]
	w.local[0].SetLen(len(buf))
	n, err := unix.ProcessVMReadv(int(w.call.TID), w.local[:1], addRemote(w.remote[:0], addr, len(buf)), 0)
	if err == unix.EPERM {
		return 0, errHidden
	}
	if err != nil || n == 0 {
		return 0, unix.EFAULT
	}
	return n, nil
}

// addRemote adds a range in two parts where it goes over the end of a page: the kernel
// reads whole parts or nothing of them.
func addRemote(list []unix.RemoteIovec, addr uint64, size int) []unix.RemoteIovec {
	first := min(size, toPageEnd(addr))
	list = append(list, unix.RemoteIovec{Base: uintptr(addr), Len: first})
	if first < size {
		list = append(list, unix.RemoteIovec{Base: uintptr(addr) + uintptr(first), Len: size - first})
	}
	return list
}

// readExact reads all of buf or fails with EFAULT.
func (w *worker) readExact(addr uint64, buf []byte) error {
	for n, a := range w.ahead {
		if a.addr == addr && a.size >= len(buf) {
			copy(buf, w.path[n][:])
			return nil
		}
	}
	for done := 0; done < len(buf); {
		n, err := w.readMemory(addr+uint64(done), buf[done:])
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
