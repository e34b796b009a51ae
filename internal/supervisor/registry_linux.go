package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/registry"

	"golang.org/x/sys/unix"
)

// maxEntries bounds how many names of a registry directory are looked at.
const maxEntries = 4096

// openDir opens a place of the registry, and makes it where it is missing and make is set.
func openDir(path string, make bool) (*os.File, error) {
	above, err := registry.Above(path)
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
	return registry.Open(above, path)
}

// self is the manifest's part that names this process.
func self() (api.Manifest, error) { return Identify(os.Getpid()) }

// Identify gives the part of a manifest that names a process of our PID namespace.
func Identify(pid int) (api.Manifest, error) {
	p, err := registry.Identify(pid)
	return api.Manifest{PID: p.PID, Start: p.Start, Boot: p.Boot, PIDNamespace: p.PIDNamespace}, err
}

// Ended reports whether a process that [Identify] has named has ended, as far as this
// process can see.
func Ended(m api.Manifest) bool { return processOf(m).Ended() }

// processOf is the process that a manifest names.
func processOf(m api.Manifest) registry.Process {
	return registry.Process{PID: m.PID, Start: m.Start, Boot: m.Boot, PIDNamespace: m.PIDNamespace}
}

// register writes a manifest under its final name, whole or not at all, and
// never over another one.
func register(dir *os.File, m api.Manifest) error {
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("writing the manifest: %w", err)
	}
	if len(text) > registry.MaxManifest {
		return fmt.Errorf("writing the manifest: %d bytes, at most %d", len(text), registry.MaxManifest)
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
		err = unix.Linkat(unix.AT_FDCWD, registry.Descriptor(f), int(dir.Fd()), name, unix.AT_SYMLINK_FOLLOW)
	}
	if err != nil {
		return &os.PathError{Op: "write", Path: filepath.Join(dir.Name(), name), Err: err}
	}
	return nil
}

// unregister takes an entry away, and the directory when that was the last.
func unregister(dir *os.File, id string) {
	_ = unix.Unlinkat(int(dir.Fd()), id+".sock", 0)
	_ = unix.Unlinkat(int(dir.Fd()), id+".json", 0)
	removeEmpty(dir)
}

// removeEmpty takes a place of the registry away if nothing is in it. A run that
// is about to register there makes it again.
func removeEmpty(dir *os.File) {
	if above, err := registry.Above(dir.Name()); err == nil {
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
	me, err := registry.Self()
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
		if !ok || !registry.WellFormed(id) {
			continue
		}
		m, err := readManifest(dir, name)
		if err != nil || m.ID != id {
			continue
		}
		if processOf(m).Gone(me) {
			unregister(dir, id)
			continue
		}
		found = append(found, Entry{Manifest: m, dir: dir.Name()})
	}
	return found
}

func readManifest(dir *os.File, name string) (m api.Manifest, err error) {
	text, err := registry.ReadManifest(dir, name)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(text, &m)
}
