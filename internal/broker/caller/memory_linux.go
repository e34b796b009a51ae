package caller

import (
	"bytes"
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

// PathMax is PATH_MAX of linux/limits.h: a path with its NUL, in bytes.
const PathMax = 4096

// PageSize in bytes, to the end of which is read at once.
const PageSize = 4096 // a multiple or a divisor of every real page: reads stop at a hole either way

// Memory reads what the calls of callers point to, one call after the other. Its buffers
// are those of one worker: nothing is allocated for a call.
type Memory struct {
	tid    uint32
	path   [2][PathMax]byte
	ahead  [2]ahead // what path holds of the call, see [Memory.Fetch]
	local  [2]unix.Iovec
	remote [4]unix.RemoteIovec
}

// Begin is for the next call: nothing that was read before counts any more.
func (m *Memory) Begin(tid uint32) { m.tid, m.ahead = tid, [2]ahead{} }

// Text reads a path from the caller's memory, into buffer n. A text that runs
// into unmapped memory is EFAULT, one without an end ENAMETOOLONG.
func (m *Memory) Text(addr uint64, n int) (string, error) {
	buf := m.path[n][:]
	if m.ahead[n].addr != addr {
		m.ahead[n] = ahead{}
	}
	for searched, done := 0, m.ahead[n].size; ; {
		if end := bytes.IndexByte(buf[searched:done], 0); end >= 0 {
			return string(buf[:searched+end]), nil
		}
		if searched = done; done == len(buf) {
			return "", unix.ENAMETOOLONG
		}
		got, err := m.read(addr+uint64(done), buf[done:done+part(addr, done)])
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

// Fetch reads the beginnings of two texts or structures of a call at once, for Text and
// ReadExact. What cannot be read is left to them.
func (m *Memory) Fetch(addr0, addr1 uint64) {
	first, second := part(addr0, 0), part(addr1, 0)
	m.local[0].Base, m.local[1].Base = &m.path[0][0], &m.path[1][0]
	m.local[0].SetLen(first)
	m.local[1].SetLen(second)
	n, err := unix.ProcessVMReadv(int(m.tid), m.local[:2], addRemote(addRemote(m.remote[:0], addr0, first), addr1, second), 0)
	if err == nil {
		m.ahead = [2]ahead{{addr0, min(n, first)}, {addr1, max(0, n-first)}}
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
		size = PathMax - done
	}
	if rest := toPageEnd(addr + uint64(done)); rest >= leastPart {
		size = min(size, rest)
	}
	return min(size, PathMax-done)
}

func toPageEnd(addr uint64) int { return int(PageSize - addr%PageSize) }

// ErrHidden is memory of a program that may be executed but not read, by a user
// that does not own it: only the host's root may look.
var ErrHidden = errors.New("the caller's memory is hidden")

// read fills as much of buf as is mapped at addr, which is something.
func (m *Memory) read(addr uint64, buf []byte) (int, error) {
	m.local[0].Base = &buf[0]
	m.local[0].SetLen(len(buf))
	n, err := unix.ProcessVMReadv(int(m.tid), m.local[:1], addRemote(m.remote[:0], addr, len(buf)), 0)
	if err == unix.EPERM || err == unix.ENOSYS { // the caller's, or a filter around us: docker's refuses the call
		n, err = m.readFile(addr, buf)
	}
	if err == ErrHidden {
		return 0, err
	}
	if err != nil || n == 0 {
		return 0, unix.EFAULT
	}
	return n, nil
}

// readFile is read by /proc, to which the kernel gives the same processes as to
// process_vm_readv(2).
func (m *Memory) readFile(addr uint64, buf []byte) (int, error) {
	fd, err := unix.Open("/proc/"+strconv.FormatUint(uint64(m.tid), 10)+"/mem", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, ErrHidden
	}
	defer unix.Close(fd)
	return unix.Pread(fd, buf[:min(len(buf), toPageEnd(addr))], int64(addr))
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

// ReadExact reads all of buf or fails with EFAULT.
func (m *Memory) ReadExact(addr uint64, buf []byte) error {
	for n, a := range m.ahead {
		if a.addr == addr && a.size >= len(buf) {
			copy(buf, m.path[n][:])
			return nil
		}
	}
	for done := 0; done < len(buf); {
		n, err := m.read(addr+uint64(done), buf[done:])
		if err != nil {
			return err
		}
		done += n
	}
	return nil
}

// Write puts bytes into the memory of a thread, all of them or none: EFAULT.
func Write(tid uint32, addr uint64, buf []byte) error {
	local := []unix.Iovec{{Base: &buf[0]}}
	local[0].SetLen(len(buf))
	n, err := unix.ProcessVMWritev(int(tid), local, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(buf)}}, 0)
	if err != nil || n != len(buf) {
		return unix.EFAULT
	}
	return nil
}
