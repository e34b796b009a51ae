package history

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"carrel/internal/history/journal"
	"carrel/internal/pathname"

	"golang.org/x/sys/unix"
)

// root is a place whose changes are kept, pinned: a directory, or a file by the
// directory that it is in.
type root struct {
	path string
	fd   int
	file string // "" for a directory
	id   journal.ID
}

// openRoot pins a root.
func openRoot(path string) (root, error) {
	r := root{path: path}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	var err error
	if r.fd, err = unix.Openat2(unix.AT_FDCWD, path, &how); err == unix.ENOTDIR {
		dir := pathname.Parent(path)
		r.file = path[len(dir)+1:]
		r.fd, err = unix.Openat2(unix.AT_FDCWD, dir+"/", &how)
	}
	if err != nil {
		return r, err
	}
	st, err := stateAt(r.fd, r.file, 0)
	if err == nil && r.file != "" && st.Kind == journal.Absent {
		err = unix.ENOENT
	}
	if err != nil {
		unix.Close(r.fd)
	}
	r.id = st.ID
	return r, err
}

// parent opens the directory that holds a path of the root, as a path only, and
// gives the last component. Neither links nor mounts are followed.
func (r *root) parent(path string) (int, string, error) {
	if r.fd < 0 { // it is gone
		return -1, "", unix.ENOENT
	}
	rel := strings.TrimPrefix(path[len(r.path):], "/")
	if rel == "" {
		fd, err := unix.FcntlInt(uintptr(r.fd), unix.F_DUPFD_CLOEXEC, 0)
		return fd, r.file, err
	}
	if r.file != "" {
		return -1, "", unix.ENOTDIR
	}
	dir, name := "", rel
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		dir, name = rel[:i], rel[i+1:]
	}
	if name == "." || name == ".." || name == "" {
		return -1, "", unix.EINVAL
	}
	fd, err := r.open(dir)
	return fd, name, err
}

// open pins a directory below the root.
func (r *root) open(rel string) (int, error) { return r.walk(rel, pathMax, false) }

// walk pins a directory in pieces of a path, which are no longer than the kernel
// takes at once, and with most 0 of one component each.
func (r *root) walk(rel string, most int, widen bool) (int, error) {
	at, own := r.fd, false
	for {
		piece, rest := cut(rel, most)
		next, err := r.step(at, piece)
		if err == unix.EACCES && widen {
			restore := widened(at, 0o100)
			next, err = r.step(at, piece)
			restore()
		}
		if own {
			unix.Close(at)
		}
		if err != nil || rest == "" {
			return next, err
		}
		at, own, rel = next, true, rest
	}
}

func (r *root) step(at int, piece string) (int, error) {
	if err := try("open"); err != nil {
		return -1, err
	}
	if piece == "" {
		piece = "."
	}
	return unix.Openat2(at, piece, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	})
}

// cut gives the components that fit in most bytes, one at least, and the rest.
func cut(rel string, most int) (piece, rest string) {
	if len(rel) < most {
		return rel, ""
	}
	i := -1
	if most > 0 {
		i = strings.LastIndexByte(rel[:most-1], '/')
	}
	if i <= 0 {
		if i = strings.IndexByte(rel, '/'); i < 0 {
			return rel, ""
		}
	}
	return rel[:i], rel[i+1:]
}

// widened gives a directory permissions that its own mode lacks, until the
// function that it gives is called.
func widened(dir int, with uint32) func() {
	st, err := stateAt(dir, "", 0)
	if err != nil || st.Mode&with == with || chmodFd(dir, st.Mode|with) != nil {
		return func() {}
	}
	return func() { _ = chmodFd(dir, st.Mode) }
}

// lookAt gives the state of what is at a name, also in a directory that its owner
// may not search.
func lookAt(dir int, name string) (journal.State, error) {
	st, err := stateAt(dir, name, withXattrs)
	if err == unix.EACCES && name != "" {
		defer widened(dir, 0o100)()
		st, err = stateAt(dir, name, withXattrs)
	}
	return st, err
}

const pathMax = 4096 // PATH_MAX of linux/limits.h

// missing says whether an error of parent means that there is nothing of this
// path: on the way is nothing, or no directory.
func missing(err error) bool { return err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP }

// lookIn looks at a path of one of the roots.
func lookIn(roots []root, path string) (journal.State, error) {
	dir, name, err := parentIn(roots, path)
	if missing(err) {
		return journal.State{}, nil
	}
	if err != nil {
		return journal.State{}, err
	}
	defer unix.Close(dir)
	return lookAt(dir, name)
}

// dirWalk keeps the directory open that a path was found in last: many paths of one
// directory are looked at one after the other.
type dirWalk struct {
	roots []root
	open  func(path string) (dir int, name string, err error)

	fd    int
	path  string
	held  bool
	whole bool // fd is what path names, not a place itself
}

// parent is open, of which the directory stays the receiver's to close.
func (d *dirWalk) parent(path string) (dir int, name string, err error) {
	place, above := isRoot(d.roots, path), pathname.Parent(path)
	if d.held && d.whole && !place && d.path == above {
		return d.fd, path[len(above)+1:], nil
	}
	d.close()
	if dir, name, err = d.open(path); err != nil {
		return -1, "", err
	}
	d.fd, d.path, d.held, d.whole = dir, above, true, !place
	return dir, name, nil
}

func (d *dirWalk) close() {
	if d.held {
		unix.Close(d.fd)
		d.held = false
	}
}

// isRoot says whether a path is one of the places themselves.
func isRoot(roots []root, path string) bool {
	return slices.ContainsFunc(roots, func(r root) bool { return r.path == path })
}

// parentIn opens the directory that holds a path of one of the roots. Nobody else
// may be changing modes: see parentThrough.
func parentIn(roots []root, path string) (int, string, error) {
	for i := range roots {
		if pathname.Within(path, roots[i].path) {
			return roots[i].parentThrough(path)
		}
	}
	return -1, "", errNoRoot
}

var errNoRoot = errors.New("it is in no place that this history may change as the project is now; `--write DIR` adds a directory around it")

func namesIn(roots []root, path string) ([]string, error) {
	dir, name, err := parentIn(roots, path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	fd, err := openAt(dir, dirName(name), unix.O_RDONLY|unix.O_DIRECTORY)
	if err == unix.EACCES {
		defer widened(dir, 0o100)()
		fd, err = openUnreadable(dir, dirName(name))
	}
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	return f.Readdirnames(-1)
}

// openUnreadable opens a directory that its owner may not list.
func openUnreadable(dir int, name string) (int, error) {
	pin, err := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(pin)
	defer widened(pin, 0o500)()
	return openAt(pin, ".", unix.O_RDONLY|unix.O_DIRECTORY)
}

func dirName(name string) string {
	if name == "" {
		return "."
	}
	return name
}

func openRoots(paths []string) (out []root, err error) {
	for _, p := range paths {
		r, err := openRoot(p)
		if err != nil {
			return out, fmt.Errorf("opening %q: %w", p, err)
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b root) int { return len(b.path) - len(a.path) })
	return out, nil
}

func closeRoots(roots []root) {
	for _, r := range roots {
		if r.fd >= 0 {
			unix.Close(r.fd)
		}
	}
}

// openThere opens roots of which some may be gone: there is nothing in those.
func openThere(paths []string) (out []root, err error) {
	for _, p := range paths {
		r, err := openRoot(p)
		if err != nil && !missing(err) {
			return out, fmt.Errorf("opening %q: %w", p, err)
		}
		if err != nil {
			r = root{path: p, fd: -1}
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b root) int { return len(b.path) - len(a.path) })
	return out, nil
}

// parentThrough is parent, also through directories that lost the right to be
// searched: they get it back for a moment. Nobody else may be changing modes.
func (r *root) parentThrough(path string) (int, string, error) {
	dir, name, err := r.parent(path)
	if err != unix.EACCES {
		return dir, name, err
	}
	above, rel := "", strings.TrimPrefix(path[len(r.path):], "/")
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		above, rel = rel[:i], rel[i+1:]
	}
	dir, err = r.walk(above, 0, true)
	return dir, rel, err
}
