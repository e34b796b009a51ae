//go:build linux

package main

import (
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// A worker alternates: some operations in its own place, then, when it is its
// turn, some in the shared one.
const (
	ownOps    = 16
	sharedOps = 4
)

// hand is one worker.
type hand struct {
	name        string
	random      *rand.Rand
	log         io.Writer
	blocks      int
	alone       bool // the only thread of its process: need not part with others
	own, shared *place
	*place      // where it works now
	count       int
	block       int
	memory      uintptr // a page with nothing mapped behind it
	full        bool    // see options
}

// place is a directory with what is open there.
type place struct {
	name string
	root string
	top  int     // descriptor of root
	cwd  int     // working directory here
	open [8]held // descriptors that operations opened, at fixed numbers
}

// held is an open descriptor; fd is -1 for a free number.
type held struct{ fd int }

func newHand(o options, i int, log io.Writer) *hand {
	blocks := max(o.ops/(o.procs*o.threads)/(ownOps+sharedOps), 1)
	return &hand{
		name: worker(i), random: rand.New(rand.NewPCG(o.seed, uint64(i))), log: log, blocks: blocks, alone: o.threads == 1, full: o.full,
		own: newPlace("own", placeOf(o, worker(i))), shared: newPlace("shared", placeOf(o, "shared")),
	}
}

func newPlace(name, root string) *place {
	p := &place{name: name, root: root, top: -1, cwd: -1}
	for i := range p.open {
		p.open[i].fd = -1
	}
	return p
}

// run does all blocks; it waits for its turn on in and gives it away on out.
func (h *hand) run(in, out *os.File) error {
	runtime.LockOSThread() // never unlocked: the thread has a umask and a working directory of its own
	if !h.alone {
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return fmt.Errorf("a working directory for each thread: %w", err)
		}
	}
	for _, p := range []*place{h.own, h.shared} {
		var err error
		if p.top, err = unix.Open(p.root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			return fmt.Errorf("opening %s: %w", p.root, err)
		}
		p.cwd = p.top
	}
	defer h.closeAll()
	for h.block = range h.blocks {
		h.in(h.own, ownOps)
		turn := []byte{0}
		if _, err := io.ReadFull(in, turn); err != nil {
			return fmt.Errorf("%s waiting for its turn: %w", h.name, err)
		}
		h.in(h.shared, sharedOps)
		// The last worker's last message has nobody to read it.
		_, _ = out.Write(turn)
	}
	return nil
}

// in does n operations in a place.
func (h *hand) in(p *place, n int) {
	h.place = p
	// A directory without the right to search it cannot be entered: never stay
	// in the other place.
	h.say("fchmod top", result(unix.Fchmod(p.top, 0o755)))
	back := unix.Fchdir(p.cwd)
	h.say("fchdir back", result(back))
	if back != nil || h.oneIn(3) {
		h.say("fchdir top", result(unix.Fchdir(p.top)))
	}
	if h.oneIn(2) {
		h.furnish()
	}
	for range n {
		o := pick(h.random)
		h.say(o.name, o.do(h))
	}
	h.rememberCwd()
}

// furnish makes some of what operations look for, where it is not there.
func (h *hand) furnish() {
	for _, d := range []string{"d1", "d2", "d1/d2", "d3"} {
		h.say("furnish", d+" "+result(unix.Mkdir(d, 0o755)))
	}
	for _, f := range []string{"a", "b", "d1/c", "d2/a"} {
		fd, err := unix.Open(f, unix.O_RDWR|unix.O_CREAT|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o644)
		h.say("furnish", f+" "+h.opened(fd, err))
	}
	h.say("furnish", result(unix.Symlink("d1", "l1")))
}

// rememberCwd keeps the working directory for the next time in this place.
// Above the place's top there is nothing to remember.
func (h *hand) rememberCwd() {
	if h.cwd != h.top {
		_ = unix.Close(h.cwd)
	}
	h.cwd = h.top
	buf := make([]byte, unix.PathMax)
	n, err := unix.Getcwd(buf)
	if err == nil && !strings.HasPrefix(string(buf[:n-1])+"/", h.root+"/") {
		return
	}
	if fd, err := unix.Open(".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
		h.cwd = fd
	}
}

func (h *hand) closeAll() {
	for _, p := range []*place{h.own, h.shared} {
		for _, s := range p.open {
			if s.fd >= 0 {
				_ = unix.Close(s.fd)
			}
		}
		if p.cwd != p.top {
			_ = unix.Close(p.cwd)
		}
		_ = unix.Close(p.top)
	}
}

// say prints one operation.
func (h *hand) say(name, text string) {
	h.count++
	fmt.Fprintf(h.log, "%s.%d %d %s %s %s\n", h.name, h.block, h.count, h.place.name, name, text)
}

func (h *hand) oneIn(n int) bool { return h.random.IntN(n) == 0 }

// one chooses of a list.
func one[T any](h *hand, list ...T) T { return list[h.random.IntN(len(list))] }

// keep puts a descriptor at a number of its own and closes what was there.
func (h *hand) keep(fd int) string {
	i := h.random.IntN(len(h.open))
	if h.open[i].fd >= 0 {
		_ = closed(h.open[i].fd)
	}
	h.open[i].fd = fd
	return fmt.Sprintf("#%d %s", i, describe(fd))
}

// slot chooses a descriptor, open or not.
func (h *hand) slot() (fd int, label string) {
	i := h.random.IntN(len(h.open))
	if h.open[i].fd < 0 { // one more chance, so that most are open
		i = h.random.IntN(len(h.open))
	}
	return h.open[i].fd, fmt.Sprintf("#%d", i)
}

// dirfd chooses what a relative path starts at: mostly the working directory.
func (h *hand) dirfd() (fd int, label string) {
	switch h.random.IntN(6) {
	case 0:
		return h.slot()
	case 1:
		return h.top, "top"
	}
	return unix.AT_FDCWD, "cwd"
}

// short keeps long names readable.
func short(s string) string {
	if len(s) > 120 {
		return fmt.Sprintf("%q...(%d bytes, %08x)", s[:20], len(s), crc32.ChecksumIEEE([]byte(s)))
	}
	return fmt.Sprintf("%q", s)
}

// result is "-> 0" or the error's name.
func result(err error) string {
	if err == nil {
		return "-> 0"
	}
	return "-> " + errno(err)
}

func errno(err error) string {
	if n, ok := err.(unix.Errno); ok {
		if name := unix.ErrnoName(n); name != "" {
			return name
		}
	}
	return err.Error()
}
