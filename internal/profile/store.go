package profile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"carrel/internal/safefile"
)

const (
	ending   = ".yaml"
	lockName = ".lock"
	newName  = ".new"      // what is being written; one at a time, under the lock
	maxFile  = 1 << 20     // bytes of one profile
	maxFiles = 4096        // names that are looked at
	dirMode  = 0o700       // of what is made
	fileMode = 0o600       // a profile may hold secrets in its variables
	lockWait = time.Minute // a writer takes milliseconds; a full queue of them longer
)

var (
	// ErrNone is the reason why there is nothing to read or to remove.
	ErrNone = errors.New("there is no profile of that name")
	// ErrExists is the reason why a profile is not saved.
	ErrExists = errors.New("there is a profile of that name")

	errLocked = errors.New("other programs have been changing it for a minute")
)

// Dir is where the user's profiles are, "" where no home is known. As the XDG
// specification says, a relative XDG_CONFIG_HOME counts as unset.
func Dir(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		if !filepath.IsAbs(getenv("HOME")) {
			return ""
		}
		dir = filepath.Join(getenv("HOME"), ".config")
	}
	return filepath.Join(dir, "carrel", "profiles")
}

// File is the path of a profile's file.
func File(dir, name string) string { return filepath.Join(dir, name+ending) }

// Load reads one profile. The error is [ErrNone] where there is none, a
// [config.Problems] where it has mistakes.
func Load(dir, name string) (*Profile, error) {
	text, err := Text(dir, name)
	if err != nil {
		return nil, err
	}
	return Parse(name, text, File(dir, name))
}

// Text is the file of a profile as it stands.
func Text(dir, name string) ([]byte, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	s, err := open(dir, false)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = ErrNone
		}
		return nil, fmt.Errorf("profile %q: %w", name, err)
	}
	defer s.close()
	text, err := s.read(name)
	if err != nil {
		return nil, fmt.Errorf("profile %q: %w", name, err)
	}
	return text, nil
}

// List gives the names of the profiles, sorted. A directory that is not there
// has none.
func List(dir string) ([]string, error) {
	s, err := open(dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer s.close()
	f, err := s.root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", dir, err)
	}
	defer f.Close()
	entries, err := f.Readdirnames(maxFiles)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading %q: %w", dir, err)
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e, ending); ok && CheckName(name) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Saved is what became, or would become, of one profile.
type Saved struct {
	Name     string
	File     string
	Replaced bool // there was one of that name
	Same     bool // and it had the same bytes
}

// Item is one profile to save: its text, already checked.
type Item struct {
	Name string
	Text []byte
}

// Put saves profiles, all or none of them: where one exists and replace is not
// set, the error is [ErrExists]. With dry nothing is written and nothing made.
// Writers in other processes are waited for, and whoever reads meanwhile sees
// the old file or the new one.
func Put(dir string, items []Item, replace, dry bool) ([]Saved, error) {
	for _, it := range items {
		if err := CheckName(it.Name); err != nil {
			return nil, err
		}
		if len(it.Text) > maxFile {
			return nil, fmt.Errorf("profile %q is larger than 1 MiB", it.Name)
		}
	}
	s, err := open(dir, !dry)
	if errors.Is(err, fs.ErrNotExist) && dry {
		return fresh(dir, items), nil
	}
	if err != nil {
		return nil, err
	}
	defer s.close()
	if !dry {
		if err := s.lock(); err != nil {
			return nil, err
		}
	}
	var out []Saved
	for _, it := range items {
		old, err := s.read(it.Name)
		if err != nil && !errors.Is(err, ErrNone) {
			return nil, fmt.Errorf("profile %q: %w", it.Name, err)
		}
		if err == nil && !replace {
			return nil, fmt.Errorf("profile %q: %w", it.Name, ErrExists)
		}
		out = append(out, Saved{Name: it.Name, File: File(dir, it.Name), Replaced: err == nil, Same: err == nil && string(old) == string(it.Text)})
	}
	if dry {
		return out, nil
	}
	for _, it := range items {
		if err := s.write(it.Name, it.Text); err != nil {
			return nil, fmt.Errorf("saving profile %q: %w", it.Name, err)
		}
	}
	return out, nil
}

func fresh(dir string, items []Item) []Saved {
	var out []Saved
	for _, it := range items {
		out = append(out, Saved{Name: it.Name, File: File(dir, it.Name)})
	}
	return out
}

// Delete removes a profile, or with dry only says whether there is one.
func Delete(dir, name string, dry bool) error {
	if err := CheckName(name); err != nil {
		return err
	}
	s, err := open(dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("profile %q: %w", name, ErrNone)
	}
	if err != nil {
		return err
	}
	defer s.close()
	if !dry {
		if err := s.lock(); err != nil {
			return err
		}
	}
	if _, err := s.root.Lstat(name + ending); err != nil {
		return fmt.Errorf("profile %q: %w", name, noneOr(err))
	}
	if dry {
		return nil
	}
	if err := s.root.Remove(name + ending); err != nil {
		return fmt.Errorf("profile %q: %w", name, noneOr(err))
	}
	s.sync()
	return nil
}

// store is the directory, pinned: whatever is renamed around it, one that was
// looked at is the one that is written.
type store struct {
	dir    string
	root   *os.Root
	unlock func()
}

// open pins the directory and refuses one that others can change. The parent
// may be reached through links, as people keep their dot files; the directory
// itself may not be one.
func open(dir string, create bool) (*store, error) {
	if dir == "" {
		return nil, errors.New("there is no place for profiles: neither XDG_CONFIG_HOME nor HOME is an absolute path")
	}
	parent := filepath.Dir(dir)
	if create {
		if err := os.MkdirAll(parent, dirMode); err != nil {
			return nil, fmt.Errorf("making %q: %w", parent, plain(err))
		}
	}
	above, err := os.OpenRoot(parent)
	if err != nil {
		return nil, fmt.Errorf("opening %q: %w", parent, plain(err))
	}
	defer above.Close()
	if err := ours(above, parent); err != nil {
		return nil, err
	}
	base := filepath.Base(dir)
	if create {
		if err := above.Mkdir(base, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("making %q: %w", dir, plain(err))
		}
	}
	before, err := above.Lstat(base)
	if err != nil {
		return nil, fmt.Errorf("opening %q: %w", dir, plain(err))
	}
	if !before.IsDir() {
		return nil, fmt.Errorf("%q is no directory: profiles are kept in one that is no link", dir)
	}
	root, err := above.OpenRoot(base)
	if err != nil {
		return nil, fmt.Errorf("opening %q: %w", dir, plain(err))
	}
	s := &store{dir: dir, root: root}
	if err := ours(root, dir); err != nil {
		s.close()
		return nil, err
	}
	if after, err := root.Stat("."); err != nil || !os.SameFile(before, after) {
		s.close()
		return nil, fmt.Errorf("%q was replaced while it was opened", dir)
	}
	return s, nil
}

func (s *store) close() {
	if s.unlock != nil {
		s.unlock()
	}
	s.root.Close()
}

// ours refuses a directory that somebody else can change.
func ours(root *os.Root, name string) error {
	st, err := root.Stat(".")
	if err != nil {
		return fmt.Errorf("looking at %q: %w", name, plain(err))
	}
	return private(st, name)
}

// read gives a profile's text, of a regular file of the user's that nobody else
// can change.
func (s *store) read(name string) ([]byte, error) {
	file := name + ending
	before, err := s.root.Lstat(file)
	if err != nil {
		return nil, noneOr(err)
	}
	full := filepath.Join(s.dir, file)
	if !before.Mode().IsRegular() {
		return nil, fmt.Errorf("%q is no regular file", full)
	}
	f, err := s.root.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, noneOr(err)
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%q is no regular file", full)
	case !os.SameFile(before, st):
		// A writer renamed a new one over it in between: that is the one that
		// counts, and it was opened; a link in its place would not be regular
		// when looked at again.
		if now, err := s.root.Lstat(file); err != nil || !now.Mode().IsRegular() {
			return nil, fmt.Errorf("%q was replaced while it was opened", full)
		}
	}
	if err := private(st, full); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%q is larger than 1 MiB", full)
	}
	return data, err
}

// write puts a file in place at once, under the lock.
func (s *store) write(name string, text []byte) error {
	return safefile.Replace(s.root, name+ending, text, safefile.Options{Temp: newName, Mode: fileMode})
}

// sync makes a rename last. Not every file system can, and the files are right
// either way.
func (s *store) sync() {
	if d, err := s.root.Open("."); err == nil {
		_ = d.Sync()
		d.Close()
	}
}

func noneOr(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNone
	}
	return plain(err)
}

// plain is the reason alone, where the message names the path already.
func plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
