package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/api"
	"carrel/internal/procfs"

	"golang.org/x/sys/unix"
)

// maxEntries bounds how many names of a registry directory are looked at.
const maxEntries = 4096

// openDir opens a place of the registry: a 0700 directory of this user's own
// in a directory that nobody else writes. It is made where it is missing and
// make is set. Neither it nor the one above it may be a symbolic link.
func openDir(path string, make bool) (*os.File, error) {
	above, err := openOwn(unix.AT_FDCWD, filepath.Dir(path), filepath.Dir(path), 0o022)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	name := filepath.Base(path)
	if make {
		switch err := unix.Mkdirat(int(above.Fd()), name, 0o700); err {
		case nil: // a umask may have taken more than it should
			if err := unix.Fchmodat(int(above.Fd()), name, 0o700, 0); err != nil {
				return nil, &os.PathError{Op: "chmod", Path: path, Err: err}
			}
		case unix.EEXIST:
		default:
			return nil, &os.PathError{Op: "mkdir", Path: path, Err: err}
		}
	}
	return openOwn(int(above.Fd()), name, path, 0o077)
}

// openOwn opens a directory that belongs to this user and grants none of the
// forbidden permissions.
func openOwn(at int, name, path string, forbidden uint32) (*os.File, error) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		f.Close()
		return nil, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if int(st.Uid) != os.Geteuid() || st.Mode&forbidden != 0 {
		f.Close()
		return nil, fmt.Errorf("%q is not a directory of this user alone (owner %d, mode %04o); make it 0700", path, st.Uid, st.Mode&0o7777)
	}
	return f, nil
}

// self is the manifest's part that names this process.
func self() (api.Manifest, error) { return Identify(os.Getpid()) }

// Identify gives the part of a manifest that names a process of our PID namespace: another
// one that gets its number later has another.
func Identify(pid int) (api.Manifest, error) {
	s, err := procfs.ReadStat(pid)
	if err != nil {
		return api.Manifest{}, err
	}
	n, err := namespacesOf("self")
	return api.Manifest{PID: pid, Start: s.Start, Boot: procfs.BootID(), PIDNamespace: n.pid}, err
}

// Ended reports whether a process that [Identify] has named has ended, as far as this
// process can see.
func Ended(m api.Manifest) bool {
	me, err := self()
	return err == nil && gone(m, me)
}

// register writes a manifest under its final name, whole or not at all, and
// never over another one.
func register(dir *os.File, m api.Manifest) error {
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("writing the manifest: %w", err)
	}
	if len(text) > maxManifest {
		return fmt.Errorf("writing the manifest: %d bytes, at most %d", len(text), maxManifest)
	}
	name := m.ID + ".json"
	flags := unix.O_WRONLY | unix.O_CLOEXEC | unix.O_TMPFILE
	fd, err := unix.Openat(int(dir.Fd()), ".", flags, 0o600)
	whole := err == nil
	if !whole { // a file system without nameless files
		fd, err = unix.Openat(int(dir.Fd()), name, unix.O_WRONLY|unix.O_CLOEXEC|unix.O_CREAT|unix.O_EXCL, 0o600)
	}
	if err != nil {
		return &os.PathError{Op: "create", Path: filepath.Join(dir.Name(), name), Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if _, err = f.Write(text); err == nil && whole {
		err = unix.Linkat(unix.AT_FDCWD, descriptor(f), int(dir.Fd()), name, unix.AT_SYMLINK_FOLLOW)
	}
	if err != nil {
		return &os.PathError{Op: "write", Path: filepath.Join(dir.Name(), name), Err: err}
	}
	return nil
}

func descriptor(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// unregister takes an entry away, and the directory when that was the last.
func unregister(dir *os.File, id string) {
	_ = unix.Unlinkat(int(dir.Fd()), id+".sock", 0)
	_ = unix.Unlinkat(int(dir.Fd()), id+".json", 0)
	removeEmpty(dir)
}

// removeEmpty takes a place of the registry away if nothing is in it. A run that
// is about to register there makes it again.
func removeEmpty(dir *os.File) {
	if above, err := openOwn(unix.AT_FDCWD, filepath.Dir(dir.Name()), filepath.Dir(dir.Name()), 0o022); err == nil {
		_ = unix.Unlinkat(int(above.Fd()), filepath.Base(dir.Name()), unix.AT_REMOVEDIR)
		above.Close()
	}
}

// Find looks for live workspaces, oldest first, and sweeps what dead
// supervisors left. What cannot be judged (another pid namespace, not ours,
// not understood) is left alone. A place that is not safe is an error, beside
// what was found in the others.
func Find(dirs []string) ([]Entry, error) {
	var found []Entry
	var errs []error
	for _, path := range dirs {
		dir, err := openDir(path, false)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("looking for workspaces: %w", err))
			continue
		}
		found = append(found, look(dir)...)
		dir.Close()
	}
	slices.SortFunc(found, func(a, b Entry) int { return a.Started.Compare(b.Started) })
	return found, errors.Join(errs...)
}

// look reads one directory of the registry.
func look(dir *os.File) []Entry {
	me, err := self()
	if err != nil {
		return nil
	}
	names, _ := dir.Readdirnames(maxEntries)
	if len(names) == 0 { // of a supervisor that was killed before it had registered
		removeEmpty(dir)
	}
	var found []Entry
	for _, name := range names {
		id, ok := strings.CutSuffix(name, ".json")
		if !ok || !wellFormed(id) {
			continue
		}
		m, err := readManifest(dir, name)
		if err != nil || m.ID != id {
			continue
		}
		if gone(m, me) {
			unregister(dir, id)
			continue
		}
		found = append(found, Entry{Manifest: m, dir: dir.Name()})
	}
	return found
}

// gone says that the process of a manifest runs no more. me is this process:
// numbers of another pid namespace say nothing here.
func gone(m, me api.Manifest) bool {
	if m.Boot != me.Boot {
		return true
	}
	if m.PIDNamespace != me.PIDNamespace {
		return false
	}
	s, err := procfs.ReadStat(m.PID)
	if err != nil {
		return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH)
	}
	return s.Start != m.Start || s.Gone()
}

func readManifest(dir *os.File, name string) (api.Manifest, error) {
	var m api.Manifest
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return m, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() {
		return m, fmt.Errorf("%q is not a file of this user", name)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return m, fmt.Errorf("reading the manifest %q: %w", name, err)
	}
	if len(text) > maxManifest {
		return m, fmt.Errorf("reading the manifest %q: more than %d bytes", name, maxManifest)
	}
	return m, json.Unmarshal(text, &m)
}
