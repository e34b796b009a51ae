package disk

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

// Root is a place of which changes are kept, pinned: a directory, or a file by the
// directory that it is in.
type Root struct {
	Path string
	FD   int
	File string // "" for a directory
	ID   journal.ID
}

// OpenRoot pins a root.
func OpenRoot(path string) (Root, error) {
	r := Root{Path: path}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	var err error
	if r.FD, err = unix.Openat2(unix.AT_FDCWD, path, &how); err == unix.ENOTDIR {
		dir := pathname.Parent(path)
		r.File = path[len(dir)+1:]
		r.FD, err = unix.Openat2(unix.AT_FDCWD, dir+"/", &how)
	}
	if err != nil {
		return r, err
	}
	st, err := StateAt(r.FD, r.File, 0)
	if err == nil && r.File != "" && st.Kind == journal.Absent {
		err = unix.ENOENT
	}
	if err != nil {
		unix.Close(r.FD)
	}
	r.ID = st.ID
	return r, err
}

// Parent opens the directory that holds a path of the root, as a path only, and
// gives the last component. Neither links nor mounts are followed.
func (r *Root) Parent(path string) (int, string, error) {
	if r.FD < 0 { // it is gone
		return -1, "", unix.ENOENT
	}
	rel := strings.TrimPrefix(path[len(r.Path):], "/")
	if rel == "" {
		fd, err := unix.FcntlInt(uintptr(r.FD), unix.F_DUPFD_CLOEXEC, 0)
		return fd, r.File, err
	}
	if r.File != "" {
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
func (r *Root) open(rel string) (int, error) { return r.walk(rel, pathMax, false) }

// walk pins a directory in pieces of a path, which are no longer than the kernel
// takes at once, and with most 0 of one component each.
func (r *Root) walk(rel string, most int, widen bool) (int, error) {
	at, own := r.FD, false
	for {
		piece, rest := cut(rel, most)
		next, err := r.step(at, piece)
		if err == unix.EACCES && widen {
			restore := Widened(at, 0o100)
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

func (r *Root) step(at int, piece string) (int, error) {
	if err := Try("open"); err != nil {
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

// Widened gives a directory permissions that its own mode lacks, until the
// function that it gives is called.
func Widened(dir int, with uint32) func() {
	st, err := StateAt(dir, "", 0)
	if err != nil || st.Mode&with == with || ChmodFd(dir, st.Mode|with) != nil {
		return func() {}
	}
	return func() { _ = ChmodFd(dir, st.Mode) }
}

// LookAt gives the state of what is at a name, also in a directory that its owner
// may not search.
func LookAt(dir int, name string) (journal.State, error) {
	st, err := StateAt(dir, name, WithXattrs)
	if err == unix.EACCES && name != "" {
		defer Widened(dir, 0o100)()
		st, err = StateAt(dir, name, WithXattrs)
	}
	return st, err
}

const pathMax = 4096 // PATH_MAX of linux/limits.h

// Missing says whether an error of parent means that there is nothing of this
// path: on the way is nothing, or no directory.
func Missing(err error) bool { return err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP }

// LookIn looks at a path of one of the roots.
func LookIn(roots []Root, path string) (journal.State, error) {
	dir, name, err := ParentIn(roots, path)
	if Missing(err) {
		return journal.State{}, nil
	}
	if err != nil {
		return journal.State{}, err
	}
	defer unix.Close(dir)
	return LookAt(dir, name)
}

// DirWalk keeps the directory open that a path was found in last: many paths of one
// directory are looked at one after the other.
type DirWalk struct {
	Roots []Root
	Open  func(path string) (dir int, name string, err error)

	fd    int
	path  string
	held  bool
	whole bool // fd is what path names, not a place itself
}

// Parent is open, of which the directory stays the receiver's to close.
func (d *DirWalk) Parent(path string) (dir int, name string, err error) {
	place, above := IsRoot(d.Roots, path), pathname.Parent(path)
	if d.held && d.whole && !place && d.path == above {
		return d.fd, path[len(above)+1:], nil
	}
	d.Close()
	if dir, name, err = d.Open(path); err != nil {
		return -1, "", err
	}
	d.fd, d.path, d.held, d.whole = dir, above, true, !place
	return dir, name, nil
}

// Close gives up the directory that is held.
func (d *DirWalk) Close() {
	if d.held {
		unix.Close(d.fd)
		d.held = false
	}
}

// IsRoot says whether a path is one of the places themselves.
func IsRoot(roots []Root, path string) bool {
	return slices.ContainsFunc(roots, func(r Root) bool { return r.Path == path })
}

// ParentIn opens the directory that holds a path of one of the roots. Nobody else
// may be changing modes: see [Root.ParentThrough].
func ParentIn(roots []Root, path string) (int, string, error) {
	for i := range roots {
		if pathname.Within(path, roots[i].Path) {
			return roots[i].ParentThrough(path)
		}
	}
	return -1, "", ErrNoRoot
}

// ErrNoRoot is why a path is refused that is below no root.
var ErrNoRoot = errors.New("it is in no place that this history may change as the project is now; `--write DIR` adds a directory around it")

// NamesIn lists the names in the directory of a path.
func NamesIn(roots []Root, path string) ([]string, error) {
	dir, name, err := ParentIn(roots, path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	fd, err := OpenAt(dir, DirName(name), unix.O_RDONLY|unix.O_DIRECTORY)
	if err == unix.EACCES {
		defer Widened(dir, 0o100)()
		fd, err = OpenUnreadable(dir, DirName(name))
	}
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	return f.Readdirnames(-1)
}

// OpenUnreadable opens a directory that its owner may not list.
func OpenUnreadable(dir int, name string) (int, error) {
	pin, err := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(pin)
	defer Widened(pin, 0o500)()
	return OpenAt(pin, ".", unix.O_RDONLY|unix.O_DIRECTORY)
}

// DirName is what a directory is opened by, below the one that holds it: "." for "".
func DirName(name string) string {
	if name == "" {
		return "."
	}
	return name
}

// OpenRoots pins places, the longest path first. With an error it gives those that it has
// pinned by then, which are the caller's to close.
func OpenRoots(paths []string) (out []Root, err error) {
	for _, p := range paths {
		r, err := OpenRoot(p)
		if err != nil {
			return out, fmt.Errorf("opening %q: %w", p, err)
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Root) int { return len(b.Path) - len(a.Path) })
	return out, nil
}

// CloseRoots lets go of places.
func CloseRoots(roots []Root) {
	for _, r := range roots {
		if r.FD >= 0 {
			unix.Close(r.FD)
		}
	}
}

// OpenThere opens roots of which some may be gone: there is nothing in those.
func OpenThere(paths []string) (out []Root, err error) {
	for _, p := range paths {
		r, err := OpenRoot(p)
		if err != nil && !Missing(err) {
			return out, fmt.Errorf("opening %q: %w", p, err)
		}
		if err != nil {
			r = Root{Path: p, FD: -1}
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Root) int { return len(b.Path) - len(a.Path) })
	return out, nil
}

// ParentThrough is parent, also through directories that lost the right to be
// searched: they get it back for a moment. No other thread may be changing modes.
func (r *Root) ParentThrough(path string) (int, string, error) {
	dir, name, err := r.Parent(path)
	if err != unix.EACCES {
		return dir, name, err
	}
	above, rel := "", strings.TrimPrefix(path[len(r.Path):], "/")
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		above, rel = rel[:i], rel[i+1:]
	}
	dir, err = r.walk(above, 0, true)
	return dir, rel, err
}
