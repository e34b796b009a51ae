package history

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// root is a place whose changes are kept, pinned.
type root struct {
	path string
	fd   int
	id   ID
}

// openRoot pins a root.
func openRoot(path string) (root, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return root{}, err
	}
	st, err := stateAt(fd, "", 0)
	return root{path, fd, st.ID}, err
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
		return fd, "", err
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

// open pins a directory below the root. A path that is longer than the kernel
// takes at once is walked in pieces.
func (r *root) open(rel string) (int, error) {
	at, own := r.fd, false
	for {
		piece, rest := rel, ""
		if len(rel) >= pathMax {
			i := strings.LastIndexByte(rel[:pathMax-1], '/')
			if i <= 0 {
				return -1, unix.ENAMETOOLONG
			}
			piece, rest = rel[:i], rel[i+1:]
		}
		if piece == "" {
			piece = "."
		}
		if err := try("open"); err != nil {
			if own {
				unix.Close(at)
			}
			return -1, err
		}
		next, err := unix.Openat2(at, piece, &unix.OpenHow{
			Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
		})
		if own {
			unix.Close(at)
		}
		if err == unix.EAGAIN {
			next, own = at, false
			if at != r.fd {
				return -1, err
			}
			continue
		}
		if err != nil || rest == "" {
			return next, err
		}
		at, own, rel = next, true, rest
	}
}

const pathMax = 4096 // PATH_MAX of linux/limits.h

// missing says whether an error of parent means that there is nothing of this
// path: on the way is nothing, or no directory.
func missing(err error) bool { return err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP }

// lookIn looks at a path of one of the roots.
func lookIn(roots []root, path string) (State, error) {
	dir, name, err := parentIn(roots, path)
	if missing(err) {
		return State{}, nil
	}
	if err != nil {
		return State{}, err
	}
	defer unix.Close(dir)
	st, err := stateAt(dir, name, withXattrs)
	if err != unix.EACCES {
		return st, err
	}
	above, err := stateAt(dir, "", 0)
	if err != nil || chmodFd(dir, above.Mode|0o100) != nil {
		return st, unix.EACCES
	}
	defer func() { _ = chmodFd(dir, above.Mode) }()
	return stateAt(dir, name, withXattrs)
}

// parentIn opens the directory that holds a path of one of the roots. Nobody else
// may be changing modes: see parentThrough.
func parentIn(roots []root, path string) (int, string, error) {
	for i := range roots {
		if within(path, roots[i].path) {
			return roots[i].parentThrough(path)
		}
	}
	return -1, "", errors.New("it is in no place that this history may change")
}

func namesIn(roots []root, path string) ([]string, error) {
	dir, name, err := parentIn(roots, path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	fd, err := openAt(dir, dirName(name), unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	return f.Readdirnames(-1)
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
	at, err := unix.FcntlInt(uintptr(r.fd), unix.F_DUPFD_CLOEXEC, 0)
	for above != "" && err == nil {
		var piece string
		piece, above, _ = strings.Cut(above, "/")
		next := -1
		next, err = through(at, piece)
		unix.Close(at)
		at = next
	}
	if err != nil {
		return -1, "", err
	}
	return at, rel, nil
}

// through opens a directory below one that may lack the right to be searched.
func through(dir int, name string) (int, error) {
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV}
	fd, err := unix.Openat2(dir, name, how)
	if err != unix.EACCES {
		return fd, err
	}
	st, err := stateAt(dir, "", 0)
	if err != nil || chmodFd(dir, st.Mode|0o100) != nil {
		return -1, unix.EACCES
	}
	fd, err = unix.Openat2(dir, name, how)
	_ = chmodFd(dir, st.Mode)
	return fd, err
}
