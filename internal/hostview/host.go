package hostview

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

const (
	maxLinks   = 40   // as the kernel follows
	maxPath    = 4096 // PATH_MAX
	maxListing = 4096 // names; a fuller directory is asked entry by entry
)

// host answers questions about the file system below a root, each asked of the
// kernel once. It resolves symbolic links itself, so that a test root works and
// so that every link on the way is known.
type host struct {
	root  string
	stats map[string]entry
	real  map[string]bool            // directories known to have no link on their path
	lists map[string]map[string]bool // complete listings of busy directories
}

// entry is what lstat said of one path.
type entry struct {
	exists bool
	mode   fs.FileMode
	link   string // text of a symbolic link
}

// place is where a path leads.
type place struct {
	path  string    // canonical; below the first missing component as written
	hops  []Symlink // links on the way, in order
	found bool
	mode  fs.FileMode
}

func (p place) isDir() bool  { return p.found && p.mode.IsDir() }
func (p place) isFile() bool { return p.found && p.mode.IsRegular() }

func newHost(root string) *host {
	return &host{
		root:  strings.TrimSuffix(root, "/"),
		stats: make(map[string]entry, 256),
		real:  map[string]bool{"/": true},
		lists: map[string]map[string]bool{},
	}
}

// walk resolves an absolute, clean path, every component of it.
func (h *host) walk(p string) place {
	if len(p) > maxPath || strings.IndexByte(p, 0) >= 0 {
		return place{path: p}
	}
	dir := parentOf(p)
	if !h.real[dir] {
		// The depth of this recursion is bounded by maxPath.
		if at := h.walk(dir); !at.found && len(at.hops) == 0 {
			return place{path: p}
		}
	}
	if h.real[dir] {
		if e := h.lstat(p); e.mode&fs.ModeSymlink == 0 {
			h.learn(p, e)
			return place{path: p, found: e.exists, mode: e.mode}
		}
	}
	return h.walkSlowly(p)
}

// parentOf is path.Dir for a clean absolute path.
func parentOf(p string) string {
	if i := strings.LastIndexByte(p, '/'); i > 0 {
		return p[:i]
	}
	return "/"
}

// absent tells without a system call that a path cannot exist, where a listing
// or an earlier answer says so.
func (h *host) absent(p string) bool {
	dir := parentOf(p)
	if names := h.lists[dir]; names != nil {
		return h.real[dir] && !names[p[len(dir)+1:]]
	}
	e, known := h.stats[dir]
	return known && !e.exists
}

func (h *host) walkSlowly(p string) place {
	at := place{path: "/", found: true, mode: fs.ModeDir}
	rest := strings.Split(p, "/")
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at.path = path.Dir(at.path)
			continue
		}
		next := path.Join(at.path, name)
		e := h.lstat(next)
		switch {
		case !e.exists:
			return place{path: path.Join(append([]string{next}, rest...)...), hops: at.hops}
		case e.mode&fs.ModeSymlink != 0:
			at.hops = append(at.hops, Symlink{Path: next, Target: e.link})
			if len(at.hops) > maxLinks || e.link == "" {
				return place{path: next, hops: at.hops}
			}
			if path.IsAbs(e.link) {
				at.path = "/"
			}
			rest = append(strings.Split(e.link, "/"), rest...)
		case !e.mode.IsDir() && len(rest) > 0:
			return place{path: path.Join(append([]string{next}, rest...)...), hops: at.hops}
		default:
			h.learn(next, e)
			at.path, at.mode = next, e.mode
		}
	}
	at.mode = h.modeOf(at.path)
	return at
}

func (h *host) modeOf(p string) fs.FileMode {
	if p == "/" {
		return fs.ModeDir
	}
	return h.lstat(p).mode
}

func (h *host) learn(p string, e entry) {
	if e.exists && e.mode.IsDir() {
		h.real[p] = true
	}
}

// lstat asks for one entry; the directory part of p must be canonical.
func (h *host) lstat(p string) entry {
	if e, ok := h.stats[p]; ok {
		return e
	}
	e := h.ask(p)
	h.stats[p] = e
	return e
}

func (h *host) ask(p string) entry {
	if h.absent(p) {
		return entry{}
	}
	return lstatRaw(h.root + p)
}

// list returns the names in a canonical directory and remembers them. ok is
// false where it cannot be read or is too full to be worth it.
func (h *host) list(dir string) (names []string, ok bool) {
	f, err := openDir(h.root + dir)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	set := make(map[string]bool)
	for len(names) < maxListing {
		part, err := f.Readdirnames(256)
		for _, n := range part {
			set[n] = true
		}
		names = append(names, part...)
		if errors.Is(err, io.EOF) {
			h.lists[dir] = set
			return names, true
		}
		if err != nil {
			return names, false
		}
	}
	return names, false
}

var (
	errNotRegular = errors.New("not a regular file")
	errTooLarge   = errors.New("too large")
)

// read returns the content of a regular file at a canonical path. It never
// blocks on a FIFO and never reads more than max bytes.
func (h *host) read(p string, max int64) ([]byte, error) {
	data, err := readRegular(h.root+p, max)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, fmt.Errorf("reading %q: %w: more than %d bytes", p, err, max)
	case err != nil:
		return nil, fmt.Errorf("reading %q: %w", p, err)
	}
	return data, nil
}

// begin returns what a regular file at a canonical path begins with, at most max bytes.
func (h *host) begin(p string, max int) ([]byte, error) {
	data, err := readBeginning(h.root+p, max)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", p, err)
	}
	return data, nil
}

// load walks to a file and reads it; it also returns where the file really is.
func (h *host) load(p string, max int64) ([]byte, place, error) {
	at := h.walk(p)
	if !at.found {
		return nil, at, fmt.Errorf("reading %q: %w", p, fs.ErrNotExist)
	}
	data, err := h.read(at.path, max)
	return data, at, err
}
