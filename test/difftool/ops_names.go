//go:build linux

package main

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// nameOps make, move and remove names, and change where relative ones start.
var nameOps = []operation{
	{"mkdirat", 25, func(h *hand) string {
		fd, label := h.dirfd()
		p, mode := h.path(), one[uint32](h, 0o755, 0o755, 0o777, 0o700, 0o1777, 0o500)
		if h.oneIn(2) {
			p = one(h, "d1", "d2", "d3", "d4", "d1/d2", "d2/d3")
		}
		err := unix.Mkdirat(fd, p, mode)
		return fmt.Sprintf("%s %s %04o %s %s", label, short(p), mode, result(err), look(fd, p))
	}},
	{"unlinkat", 18, func(h *hand) string {
		fd, label := h.dirfd()
		p, flags := h.path(), one(h, 0, 0, 0, unix.AT_REMOVEDIR, 1<<20)
		return fmt.Sprintf("%s %s %#x %s", label, short(p), flags, result(unix.Unlinkat(fd, p, flags)))
	}},
	{"rmdir", 6, func(h *hand) string {
		p := h.path()
		return short(p) + " " + result(unix.Rmdir(p))
	}},
	{"symlinkat", 14, func(h *hand) string {
		fd, label := h.dirfd()
		to, p := h.target(), h.path()
		if h.oneIn(2) {
			p = one(h, "l1", "l2", "l3")
		}
		err := unix.Symlinkat(to, fd, p)
		return fmt.Sprintf("%s %s at %s %s %s", label, short(to), short(p), result(err), look(fd, p))
	}},
	{"linkat", 14, func(h *hand) string {
		fd1, l1 := h.dirfd()
		fd2, l2 := h.dirfd()
		from, to, flags := h.path(), h.path(), one(h, 0, 0, unix.AT_SYMLINK_FOLLOW, unix.AT_EMPTY_PATH)
		err := unix.Linkat(fd1, from, fd2, to, flags)
		return fmt.Sprintf("%s %s %s %s %#x %s %s", l1, short(from), l2, short(to), flags, result(err), look(fd2, to))
	}},
	{"renameat2", 30, func(h *hand) string {
		fd1, l1 := h.dirfd()
		fd2, l2 := h.dirfd()
		from, to := h.path(), h.path()
		flags := one[uint](h, 0, 0, 0, unix.RENAME_NOREPLACE, unix.RENAME_EXCHANGE, unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE, 1<<10)
		err := unix.Renameat2(fd1, from, fd2, to, flags)
		return fmt.Sprintf("%s %s %s %s %#x %s %s %s", l1, short(from), l2, short(to), flags, result(err), look(fd1, from), look(fd2, to))
	}},
	{"rename", 10, func(h *hand) string {
		from, to := h.path(), h.path()
		return fmt.Sprintf("%s %s %s %s", short(from), short(to), result(unix.Rename(from, to)), look(unix.AT_FDCWD, to))
	}},
	{"mknodat", 6, func(h *hand) string {
		fd, label := h.dirfd()
		p, kind := h.path(), one[uint32](h, unix.S_IFIFO, unix.S_IFIFO, unix.S_IFREG, 0, unix.S_IFSOCK, unix.S_IFDIR)
		err := unix.Mknodat(fd, p, kind|h.mode(), 0)
		return fmt.Sprintf("%s %s %#o %s %s", label, short(p), kind, result(err), look(fd, p))
	}},
	{"bind", 4, doBind},
	{"chdir", 12, func(h *hand) string {
		p := h.path()
		err := unix.Chdir(p)
		return short(p) + " " + result(err) + " " + h.stay()
	}},
	{"fchdir", 4, func(h *hand) string {
		fd, label := h.slot()
		err := unix.Fchdir(fd)
		return label + " " + result(err) + " " + h.stay()
	}},
	{"umask", 8, func(h *hand) string {
		m := one(h, 0, 0o22, 0o22, 0o77, 0o27, 0o777, 0o2)
		return fmt.Sprintf("%04o -> %04o", m, unix.Umask(m))
	}},
	{"getdents", 8, func(h *hand) string {
		fd, label := h.slot()
		p := "."
		if h.oneIn(2) {
			p = h.path()
			label = short(p)
			got, err := unix.Open(p, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				return label + " " + result(err)
			}
			defer unix.Close(got)
			fd = got
		}
		return label + " " + entries(fd)
	}},
}

// stay returns to the top from wherever a change of directory led outside of
// it, and says where it is.
func (h *hand) stay() string {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Getcwd(buf)
	if err != nil {
		return "[" + errno(err) + "]"
	}
	dir := string(buf[:n-1])
	if !strings.HasPrefix(dir+"/", h.root+"/") {
		return "[outside " + result(unix.Fchmod(h.top, 0o755)) + result(unix.Fchdir(h.top)) + "]"
	}
	return "[" + short(dir[len(h.root):]) + "]"
}

// entries reads a directory from its start; their order means nothing.
func entries(fd int) string {
	if _, err := unix.Seek(fd, 0, 0); err != nil {
		return result(err)
	}
	buf := make([]byte, 1<<16)
	var names []string
	for {
		n, err := unix.Getdents(fd, buf)
		if err != nil {
			return result(err)
		}
		if n == 0 {
			break
		}
		for rest := buf[:n]; len(rest) > 19; {
			size := int(rest[16]) | int(rest[17])<<8
			name, _, _ := strings.Cut(string(rest[19:size]), "\x00")
			names = append(names, fmt.Sprintf("%s:%d", short(name), rest[18]))
			rest = rest[size:]
		}
	}
	slices.Sort(names)
	return "-> " + strings.Join(names, " ")
}

// doBind makes a socket, listens and connects to it by the name that it was
// bound to; the name that the kernel reports has to be that one too.
func doBind(h *hand) string {
	p := h.path()
	if len(p) > 100 || p == "" || strings.HasPrefix(p, "/proc/") || strings.HasPrefix(p, "/dev/") {
		p = h.simple() // the text through procfs is a known deviation
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return result(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: p}); err != nil {
		return short(p) + " bind " + result(err)
	}
	var name string
	if at, err := unix.Getsockname(fd); err == nil {
		name = at.(*unix.SockaddrUnix).Name
	}
	listen := unix.Listen(fd, 1)
	peer, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return result(err)
	}
	defer unix.Close(peer)
	connect := unix.Connect(peer, &unix.SockaddrUnix{Name: p})
	return fmt.Sprintf("%s named %s listen %s connect %s %s", short(p), short(path.Base(name)), result(listen), result(connect), look(unix.AT_FDCWD, p))
}
