package broker

import (
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// pins are objects of the mirror that callers hold below a directory which has
// lost the right to be searched: no path leads to them any more, and the
// callers go on with them all the same.
type pins struct {
	any  atomic.Bool
	mu   sync.Mutex
	list []pin
}

// pin is one object, on the mirror, as the workspace sees it, and where it is granted.
type pin struct{ mirror, view, grant int }

func (p pin) close() {
	unix.Close(p.mirror)
	unix.Close(p.view)
	unix.Close(p.grant)
}

const (
	maxPins = 256  // three descriptors each
	maxHeld = 2000 // links of procfs that one change may cost
)

// hold is called before a directory gets a new mode. It pins the next component
// to everything below that somebody stands in or has open.
func (p *pins) hold(w *pinner, dir *object, mode uint32) {
	if dir.stat.Mode&^mode&unix.S_IXUSR == 0 || kindOf(dir.stat.Mode) != KindDir {
		return // only its owner can change it, who is the caller
	}
	seen := make(map[string]bool)
	held := heldLinks(w.b.mountNS)
	for _, link := range held {
		rest, ok := strings.CutPrefix(link, dir.path+"/")
		name, _, _ := strings.Cut(rest, "/")
		if !ok || seen[name] {
			continue
		}
		seen[name] = true
		at, err := w.open(dir.fd, name, unix.O_NOFOLLOW, below)
		if err != nil {
			continue
		}
		view, err := w.seen(dir.path+"/"+name, unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: inMirror})
		if err != nil {
			unix.Close(at)
			continue
		}
		grant, err := w.grantable(dir.path + "/" + name)
		if err != nil {
			unix.Close(at)
			unix.Close(view)
			continue
		}
		p.add(&w.thread, pin{at, view, grant}, held)
	}
}

// heldLinks lists where the processes of a mount namespace stand, and what they
// have open.
func heldLinks(mountNS uint64) (out []string) {
	left := maxHeld
	for _, pid := range namesIn("/proc", math.MaxInt) {
		at := "/proc/" + pid
		var ns unix.Stat_t
		if pid[0] < '1' || pid[0] > '9' || unix.Stat(at+"/ns/mnt", &ns) != nil || ns.Ino != mountNS {
			continue
		}
		tasks := namesIn(at+"/task", left)
		left -= len(tasks)
		for _, tid := range tasks {
			if s, err := os.Readlink(at + "/task/" + tid + "/cwd"); err == nil {
				out = append(out, s)
			}
		}
		files := namesIn(at+"/fd", left)
		left -= len(files)
		for _, fd := range files {
			if s, err := os.Readlink(at + "/fd/" + fd); err == nil && s[0] == '/' {
				out = append(out, s)
			}
		}
	}
	return out
}

func namesIn(dir string, limit int) []string {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	if limit <= 0 {
		return nil
	}
	names, _ := d.Readdirnames(limit)
	return names
}

func (p *pins) add(w *thread, n pin, held []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.any.Store(true)
	for _, known := range p.list {
		if sameFile(known.mirror, n.mirror) {
			n.close()
			return
		}
	}
	if len(p.list) == maxPins {
		p.keep(func(n pin) bool { return w.leadsTo(n.mirror, held) })
	}
	if len(p.list) == maxPins {
		p.list[0].close()
		p.list = slices.Delete(p.list, 0, 1)
	}
	p.list = append(p.list, n)
}

// keep closes all pins but some.
func (p *pins) keep(wanted func(pin) bool) {
	p.list = slices.DeleteFunc(p.list, func(n pin) bool {
		if wanted(n) {
			return false
		}
		n.close()
		return true
	})
}

// leadsTo says whether anything that is held is an object of the mirror, or
// below it.
func (w *thread) leadsTo(at int, held []string) bool {
	path, err := w.fdPath(at)
	return err == nil && slices.ContainsFunc(held, func(s string) bool {
		rest, ok := strings.CutPrefix(s, path)
		return ok && (rest == "" || rest[0] == '/')
	})
}

// open finds a path by the nearest pin above it: use gets the pin, and what is
// left of the path, which is empty for the pin's own.
func (p *pins) open(w *thread, path string, use func(p pin, rest string) (int, error)) (int, error) {
	if !p.any.Load() {
		return -1, unix.EACCES
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var best, itself *pin
	var rest string
	for i := range p.list {
		at, err := w.fdPath(p.list[i].mirror)
		if err != nil {
			continue
		}
		if at == path {
			itself = &p.list[i]
		}
		if below, ok := strings.CutPrefix(path, at+"/"); ok && (best == nil || len(below) < len(rest)) {
			best, rest = &p.list[i], below
		}
	}
	fd, err := -1, error(unix.EACCES)
	if best != nil {
		fd, err = use(*best, rest)
	}
	if err == unix.EACCES && itself != nil {
		return use(*itself, "")
	}
	return fd, err
}

// sweep lets go of what has been removed: it must not take room on the disk.
func (p *pins) sweep() {
	if !p.any.Load() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep(func(n pin) bool {
		var st unix.Stat_t
		return unix.Fstat(n.mirror, &st) == nil && st.Nlink > 0
	})
	p.any.Store(len(p.list) > 0)
}

func (p *pins) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep(func(pin) bool { return false })
}

// named opens a path that procfs gave for something of a caller's.
func (w *pinner) named(path string, flags uint64) (int, error) {
	fd, err := w.open(w.b.config.Mirror, path, flags, inMirror)
	if err != unix.EACCES {
		return fd, err
	}
	return w.b.pins.open(&w.thread, path, func(p pin, rest string) (int, error) {
		if rest == "" {
			return unix.FcntlInt(uintptr(p.mirror), unix.F_DUPFD_CLOEXEC, 0)
		}
		return w.open(p.mirror, rest, flags, below)
	})
}

// seen opens a path of the mirror in the workspace's own tree, read-only.
func (w *thread) seen(path string, how unix.OpenHow) (int, error) {
	fd, err := unix.Openat2(w.b.config.View, path, &how)
	if err != unix.EACCES {
		return fd, err
	}
	return w.b.pins.open(w, path, func(p pin, rest string) (int, error) {
		if rest == "" {
			how.Flags &^= unix.O_NOFOLLOW
			rest, p.view, how.Resolve = "/proc/self/fd/"+strconv.Itoa(p.view), unix.AT_FDCWD, 0
		}
		return unix.Openat2(p.view, rest, &how)
	})
}

// grantable opens a path of the mirror where it is granted, as a path only.
func (w *thread) grantable(path string) (int, error) {
	fd, err := descend(w.b.config.Grants, path[1:])
	if err != unix.EACCES {
		return fd, err
	}
	return w.b.pins.open(w, path, func(p pin, rest string) (int, error) {
		if rest == "" {
			return unix.FcntlInt(uintptr(p.grant), unix.F_DUPFD_CLOEXEC, 0)
		}
		return descend(p.grant, rest)
	})
}
