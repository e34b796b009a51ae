package broker

import (
	"os"
	"slices"
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

// pin is one object, on the mirror and as the workspace sees it.
type pin struct{ mirror, view int }

func (p pin) close() {
	unix.Close(p.mirror)
	unix.Close(p.view)
}

const (
	maxPins  = 64
	maxHeld  = 2000 // links of procfs that one change may cost
	searched = 0o111
)

// hold is called before a directory gets a new mode. It pins the next component
// to everything below that somebody stands in or has open.
func (p *pins) hold(w *worker, dir *object, mode uint32) {
	if dir.stat.Mode&^mode&searched == 0 || kindOf(dir.stat.Mode) != KindDir {
		return
	}
	left := maxHeld
	seen := make(map[string]bool)
	for _, link := range heldLinks(&left) {
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
		view, err := w.open(w.b.config.View, dir.path+"/"+name, unix.O_NOFOLLOW, inMirror)
		if err != nil {
			unix.Close(at)
			continue
		}
		p.add(pin{at, view})
	}
}

// heldLinks lists where all processes that we may look at stand, and what they
// have open.
func heldLinks(left *int) (out []string) {
	for _, pid := range namesIn("/proc", left) {
		if pid[0] < '1' || pid[0] > '9' {
			continue
		}
		at := "/proc/" + pid
		for _, tid := range namesIn(at+"/task", left) {
			if s, err := os.Readlink(at + "/task/" + tid + "/cwd"); err == nil {
				out = append(out, s)
			}
		}
		for _, fd := range namesIn(at+"/fd", left) {
			if s, err := os.Readlink(at + "/fd/" + fd); err == nil && s[0] == '/' {
				out = append(out, s)
			}
		}
	}
	return out
}

func namesIn(dir string, left *int) []string {
	if *left <= 0 {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(*left)
	if dir != "/proc" {
		*left -= len(names)
	}
	return names
}

func (p *pins) add(n pin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.any.Store(true)
	if len(p.list) == maxPins {
		p.list[0].close()
		p.list = slices.Delete(p.list, 0, 1)
	}
	p.list = append(p.list, n)
}

// open finds a path by the nearest pin above it: use gets the pin, and what is
// left of the path, which is empty for the pin's own.
func (p *pins) open(w *worker, path string, use func(p pin, rest string) (int, error)) (int, error) {
	if !p.any.Load() {
		return -1, unix.EACCES
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var best *pin
	var rest string
	for i := range p.list {
		at, err := w.fdPath(p.list[i].mirror)
		if err != nil {
			continue
		}
		if at == path {
			return use(p.list[i], "")
		}
		if below, ok := strings.CutPrefix(path, at+"/"); ok && (best == nil || len(below) < len(rest)) {
			best, rest = &p.list[i], below
		}
	}
	if best == nil {
		return -1, unix.EACCES
	}
	return use(*best, rest)
}

// sweep lets go of what has been removed: it must not take room on the disk.
func (p *pins) sweep() {
	if !p.any.Load() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.list[:0]
	for _, n := range p.list {
		var st unix.Stat_t
		if unix.Fstat(n.mirror, &st) == nil && st.Nlink > 0 {
			left = append(left, n)
			continue
		}
		n.close()
	}
	p.list = left
	p.any.Store(len(left) > 0)
}

func (p *pins) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.list {
		n.close()
	}
	p.list = nil
}

// named opens a path that procfs gave for something of a caller's.
func (w *worker) named(path string, flags uint64) (int, error) {
	fd, err := w.open(w.b.config.Mirror, path, flags, inMirror)
	if err != unix.EACCES {
		return fd, err
	}
	return w.b.pins.open(w, path, func(p pin, rest string) (int, error) {
		if rest == "" {
			return unix.FcntlInt(uintptr(p.mirror), unix.F_DUPFD_CLOEXEC, 0)
		}
		return w.open(p.mirror, rest, flags, below)
	})
}
