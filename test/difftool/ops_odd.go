//go:build linux

package main

import (
	"fmt"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// oddOps are what only mistaken or hostile programs do: pointers to nothing,
// names that run out of mapped memory, descriptors that are none.
var oddOps = []operation{
	{"bad pointer", 4, func(h *hand) string {
		c := one(h, pathCalls...)
		args := c.args(h, one[uintptr](h, 1, 8, ^uintptr(0)-7, h.edge("no end")))
		_, _, e := unix.Syscall6(c.number, args[0], args[1], args[2], args[3], args[4], 0)
		return c.name + " " + number(0, e)
	}},
	{"name at the edge of memory", 4, func(h *hand) string {
		p := h.simple()
		fd, err := unix.Openat(unix.AT_FDCWD, p, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err == nil {
			_ = unix.Close(fd)
		}
		_, _, e := unix.Syscall6(unix.SYS_MKDIRAT, ^uintptr(99), h.edge(p+"\x00"), 0o755, 0, 0, 0)
		return short(p) + " " + result(err) + " " + number(0, e) + " " + look(unix.AT_FDCWD, p)
	}},
	{"times at a bad pointer", 1, func(h *hand) string {
		_, _, e := unix.Syscall6(unix.SYS_UTIMENSAT, ^uintptr(99), text("a"), 16, 0, 0, 0)
		return number(0, e)
	}},
	{"no descriptor", 4, func(h *hand) string {
		c := one(h, pathCalls...)
		p := h.simple()
		args := c.args(h, text(p))
		args[0] = one(h, ^uintptr(0), 900, 1<<31)
		_, _, e := unix.Syscall6(c.number, args[0], args[1], args[2], args[3], args[4], 0)
		return c.name + " " + short(p) + " " + number(0, e)
	}},
	{"remove the working directory", 2, func(h *hand) string {
		s := result(unix.Mkdir("gone", 0o755)) + " " + result(unix.Chdir("gone")) + " " + result(unix.Rmdir("../gone"))
		_, err := unix.Open("x", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
		s += " create " + result(err) + " mkdir " + result(unix.Mkdir("x", 0o755)) + " access " + result(unix.Access(".", unix.W_OK))
		if h.oneIn(2) {
			s += " back " + result(unix.Fchdir(h.top))
		}
		return s
	}},
	{"unlinked but open", 3, func(h *hand) string {
		p := h.simple()
		fd, err := unix.Open(p, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return short(p) + " " + result(err)
		}
		s := result(unix.Unlink(p)) + " " + result(unix.Fchmod(fd, 0o640)) + " " + result(unix.Ftruncate(fd, 77)) + " " + result(unix.Fsetxattr(fd, "user.x", []byte("y"), 0))
		return short(p) + " " + s + " " + h.keep(fd)
	}},
}

// pathCall is a call whose second argument is a name.
type pathCall struct {
	name   string
	number uintptr
	rest   [3]uintptr
}

var pathCalls = []pathCall{
	{"openat", unix.SYS_OPENAT, [3]uintptr{unix.O_CREAT | unix.O_WRONLY, 0o644}},
	{"mkdirat", unix.SYS_MKDIRAT, [3]uintptr{0o755}},
	{"unlinkat", unix.SYS_UNLINKAT, [3]uintptr{0}},
	{"fchmodat", unix.SYS_FCHMODAT, [3]uintptr{0o644}},
	{"faccessat", unix.SYS_FACCESSAT, [3]uintptr{unix.W_OK}},
	{"mknodat", unix.SYS_MKNODAT, [3]uintptr{unix.S_IFREG | 0o644, 0}},
	{"utimensat", unix.SYS_UTIMENSAT, [3]uintptr{0, 0}},
	{"fchownat", unix.SYS_FCHOWNAT, [3]uintptr{^uintptr(0), ^uintptr(0)}},
}

func (c pathCall) args(_ *hand, name uintptr) [5]uintptr {
	return [5]uintptr{^uintptr(99), name, c.rest[0], c.rest[1], c.rest[2]}
}

// edge puts bytes right before memory that is not there.
func (h *hand) edge(s string) uintptr {
	page := unix.Getpagesize()
	if h.memory == 0 {
		addr, _, e := syscall.Syscall6(unix.SYS_MMAP, 0, uintptr(2*page), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uintptr(0), 0)
		if e != 0 {
			return 1
		}
		if _, _, e := syscall.Syscall(unix.SYS_MPROTECT, addr+uintptr(page), uintptr(page), unix.PROT_NONE); e != 0 {
			return 1
		}
		h.memory = addr
	}
	at := h.memory + uintptr(page-len(s))
	copy(unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), len(s)), s)
	return at
}

// text gives the address of a name for a raw call.
func text(s string) uintptr {
	b := append([]byte(s), 0)
	return uintptr(unsafe.Pointer(pin(&b[0])))
}

var pinned struct {
	sync.Mutex
	list []*byte
}

// pin keeps what a raw call points to for good: a few bytes each.
func pin(b *byte) *byte {
	pinned.Lock()
	defer pinned.Unlock()
	pinned.list = append(pinned.list, b)
	return b
}

func number(n uintptr, e syscall.Errno) string {
	if e != 0 {
		return "-> " + errno(e)
	}
	return fmt.Sprintf("-> %d", n)
}
