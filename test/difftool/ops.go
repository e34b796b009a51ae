//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// operation is one kind of call. do chooses the arguments, carries it out and
// gives both with the result.
type operation struct {
	name   string
	weight int
	do     func(*hand) string
}

var operations = slices.Concat(openOps, nameOps, attributeOps, contentOps, oddOps)

var total = func() (sum int) {
	for _, o := range operations {
		sum += o.weight
	}
	return sum
}()

// pick chooses by weight.
func pick(r *rand.Rand) operation {
	n := r.IntN(total)
	for _, o := range operations {
		if n -= o.weight; n < 0 {
			return o
		}
	}
	return operations[0]
}

// openOps open things and close them again.
var openOps = []operation{
	{"openat", 40, doOpen},
	{"creat", 4, func(h *hand) string {
		p, mode := h.path(), h.mode()
		fd, err := unix.Creat(h.noFIFO(p), mode)
		return fmt.Sprintf("%s %04o %s", short(p), mode, h.opened(fd, err))
	}},
	{"open to write", 10, doOpenBlocking},
	{"openat2", 8, doOpenat2},
	{"tmpfile", 8, doTmpfile},
	{"close", 10, func(h *hand) string {
		fd, label := h.slot()
		for i := range h.open {
			if h.open[i].fd == fd {
				h.open[i].fd = -1
			}
		}
		return label + " " + result(closed(fd))
	}},
	{"open /proc/self/fd", 4, func(h *hand) string {
		fd, label := h.slot()
		flags := h.flags()
		if h.removed(fd, "") || elsewhere(fd) {
			return "removed"
		}
		got, err := unix.Open(fmt.Sprintf("/proc/thread-self/fd/%d", fd), flags, 0)
		return fmt.Sprintf("%s %s %s", label, flagNames(flags), h.opened(got, err))
	}},
	{"write whole file", 12, func(h *hand) string {
		p := h.simple()
		fd, err := unix.Open(h.noFIFO(p), unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC, 0o644)
		if err != nil {
			return short(p) + " " + result(err)
		}
		defer closed(fd)
		n, err := unix.Write(fd, h.bytes(h.random.IntN(9000)))
		return fmt.Sprintf("%s %d %s", short(p), n, result(err))
	}},
}

// opened keeps a new descriptor, or says why there is none.
func (h *hand) opened(fd int, err error) string {
	if err != nil {
		return result(err)
	}
	return "-> " + h.keep(fd)
}

// noFIFO gives a name that cannot be opened where opening would wait.
func (h *hand) noFIFO(p string) string {
	var st unix.Stat_t
	if unix.Stat(p, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO {
		return "/nowhere/at/all"
	}
	return p
}

func doOpen(h *hand) string {
	fd, label := h.dirfd()
	p, flags, mode := h.path(), h.flags(), h.mode()
	got, err := unix.Openat(fd, p, flags, mode)
	return fmt.Sprintf("%s %s %s %04o %s", label, short(p), flagNames(flags), mode, h.opened(got, err))
}

func doOpenBlocking(h *hand) string {
	p := h.path()
	flags := one(h, unix.O_WRONLY, unix.O_RDWR) | one(h, 0, unix.O_CREAT, unix.O_CREAT, unix.O_TRUNC, unix.O_CREAT|unix.O_EXCL, unix.O_CREAT|unix.O_APPEND)
	got, err := unix.Open(h.noFIFO(p), flags|one(h, 0, unix.O_CLOEXEC), 0o666)
	return fmt.Sprintf("%s %s %s", short(p), flagNames(flags), h.opened(got, err))
}

func doOpenat2(h *hand) string {
	fd, label := h.dirfd()
	p := h.path()
	flags := h.flags()
	how := unix.OpenHow{Flags: uint64(flags), Resolve: one[uint64](h, 0, unix.RESOLVE_BENEATH, unix.RESOLVE_IN_ROOT, unix.RESOLVE_NO_SYMLINKS, unix.RESOLVE_NO_MAGICLINKS, 1<<40)}
	if flags&(unix.O_CREAT|unix.O_TMPFILE) != 0 {
		how.Mode = uint64(h.mode())
	}
	if !h.full {
		got, err := unix.Openat(fd, p, flags, uint32(how.Mode))
		return fmt.Sprintf("%s %s %s %s", label, short(p), flagNames(flags), h.opened(got, err))
	}
	got, err := unix.Openat2(fd, p, &how)
	return fmt.Sprintf("%s %s %s resolve=%#x %s", label, short(p), flagNames(flags), how.Resolve, h.opened(got, err))
}

// doTmpfile makes a file without a name, writes to it and gives it one.
func doTmpfile(h *hand) string {
	dir, p := one(h, ".", "d1", "d2", "a"), h.path()
	flags := unix.O_TMPFILE | one(h, unix.O_RDWR, unix.O_WRONLY, unix.O_RDONLY, unix.O_RDWR|unix.O_EXCL)
	if h.removed(unix.AT_FDCWD, dir) {
		return "removed"
	}
	fd, err := unix.Open(dir, flags|unix.O_CLOEXEC, h.mode())
	if err != nil {
		return fmt.Sprintf("%s %s %s", dir, flagNames(flags), result(err))
	}
	n, werr := unix.Write(fd, h.bytes(100))
	var lerr error
	if h.oneIn(3) {
		lerr = unix.Linkat(fd, "", unix.AT_FDCWD, p, unix.AT_EMPTY_PATH)
	} else {
		lerr = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/thread-self/fd/%d", fd), unix.AT_FDCWD, p, unix.AT_SYMLINK_FOLLOW)
	}
	return fmt.Sprintf("%s %s wrote %d %v, link %s %s %s", dir, flagNames(flags), n, result(werr), short(p), result(lerr), "-> "+h.keep(fd))
}

// flags are for an open that never waits.
func (h *hand) flags() int {
	f := one(h, unix.O_RDONLY, unix.O_RDONLY, unix.O_WRONLY, unix.O_RDWR, unix.O_RDWR, 3) | unix.O_NONBLOCK
	for _, extra := range flagTable[:10] {
		if h.oneIn(6) {
			f |= extra.bit
		}
	}
	if h.oneIn(2) {
		f |= unix.O_CREAT
	}
	// Below level full what is to be cut and not to be written has errors of its own, see
	// docs/deviations.md.
	if access := f & unix.O_ACCMODE; !h.full && access != unix.O_WRONLY && access != unix.O_RDWR {
		f &^= unix.O_TRUNC
	}
	return f
}

var flagTable = []struct {
	bit  int
	name string
}{
	{unix.O_CREAT, "CREAT"}, {unix.O_CREAT, "CREAT"}, {unix.O_EXCL, "EXCL"}, {unix.O_TRUNC, "TRUNC"}, {unix.O_APPEND, "APPEND"},
	{unix.O_NOFOLLOW, "NOFOLLOW"}, {unix.O_CLOEXEC, "CLOEXEC"}, {unix.O_DIRECTORY, "DIRECTORY"}, {unix.O_PATH, "PATH"}, {unix.O_NOATIME, "NOATIME"},
	{unix.O_NONBLOCK, "NONBLOCK"}, {unix.O_TMPFILE &^ unix.O_DIRECTORY, "TMPFILE"},
}

func flagNames(f int) string {
	out := []string{[]string{"RDONLY", "WRONLY", "RDWR", "3"}[f&3]}
	for _, e := range flagTable[1:] {
		if f&e.bit != 0 {
			out = append(out, e.name)
		}
	}
	return strings.Join(out, "|")
}

func (h *hand) mode() uint32 {
	return one[uint32](h, 0o644, 0o644, 0o600, 0o755, 0o777, 0o700, 0o666, 0o640, 0o444, 0o200, 0)
}

// bytes are n bytes that nobody would choose.
func (h *hand) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(h.random.Uint32())
	}
	return b
}
