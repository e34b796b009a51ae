package settings

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
)

// MaxFile bounds a settings file in bytes.
const MaxFile = 16 << 20

// What callers tell apart.
var (
	ErrTooLarge = errors.New("larger than 16 MiB")
	ErrChanged  = errors.New("somebody else has changed it meanwhile; nothing was written: try again")
	ErrNoDir    = errors.New("its directory does not exist")
)

var errNotRegular = errors.New("not a regular file")

// File is a settings file as it was read.
type File struct {
	Path string // as the program that reads it names it
	Real string // where the link leads to, or Path
	Text []byte // nil when there is no file

	root *os.Root // the directory that holds Real
	base string
	held *os.File    // what was read, so that its inode is nobody else's meanwhile
	info fs.FileInfo // nil when there is no file

	staged string // the new file beside it
	ours   []byte // what is in that
}

// Open reads a settings file, through a link if it is one. A file that does
// not exist is no error, a link to nothing is.
func Open(path string) (_ *File, err error) {
	f := &File{Path: path, Real: path}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if real, err := filepath.EvalSymlinks(path); err == nil {
		f.Real = real
	} else if _, linkErr := os.Lstat(path); linkErr == nil {
		return nil, fmt.Errorf("following the link: %w", reason(err))
	}
	f.base = filepath.Base(f.Real)
	if f.root, err = os.OpenRoot(filepath.Dir(f.Real)); errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoDir
	} else if err != nil {
		return nil, reason(err)
	}
	f.held, f.info, f.Text, err = f.read()
	if errors.Is(err, fs.ErrNotExist) && f.Real == f.Path {
		return f, nil
	}
	return f, err
}

// Close lets go of the file.
func (f *File) Close() {
	f.discard()
	if f.held != nil {
		f.held.Close()
	}
	if f.root != nil {
		f.root.Close()
	}
}

// read reads the file itself, no link and no FIFO.
func (f *File) read() (*os.File, fs.FileInfo, []byte, error) {
	before, err := f.root.Lstat(f.base)
	if err != nil {
		return nil, nil, nil, reason(err)
	}
	if !before.Mode().IsRegular() {
		return nil, nil, nil, errNotRegular
	}
	r, err := f.root.OpenFile(f.base, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, nil, reason(err)
	}
	info, err := r.Stat()
	switch {
	case err != nil:
	case !os.SameFile(before, info):
		err = ErrChanged
	case info.Size() > MaxFile:
		err = ErrTooLarge
	}
	text := []byte{}
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(r, MaxFile+1))
		if err == nil && len(text) > MaxFile {
			err = ErrTooLarge
		}
	}
	if err != nil {
		r.Close()
		return nil, nil, nil, reason(err)
	}
	return r, info, text, nil
}

// Editable refuses a file that is not the user's own to replace.
func (f *File) Editable() error {
	if f.info == nil {
		return nil
	}
	if f.info.Mode().Perm()&0o200 == 0 {
		return fmt.Errorf("it is write-protected (mode %04o)\nhint: chmod u+w, if it is to be changed", f.info.Mode().Perm())
	}
	return ownFile(f.info)
}

// unchanged tells whether the file is still the one that was read.
func (f *File) unchanged() error {
	if real, err := filepath.EvalSymlinks(f.Path); f.info != nil && (err != nil || real != f.Real) {
		return ErrChanged
	}
	held, info, text, err := f.read()
	if errors.Is(err, fs.ErrNotExist) && f.info == nil {
		return nil
	}
	if err != nil {
		return ErrChanged
	}
	defer held.Close()
	if f.info == nil || !os.SameFile(info, f.info) || info.Mode() != f.info.Mode() || !bytes.Equal(text, f.Text) {
		return ErrChanged
	}
	return nil
}

// Replace puts a new text in place at once: who reads sees the old file or the
// new one, also after a crash.
func (f *File) Replace(text []byte) error {
	if err := f.Stage(text); err != nil {
		return err
	}
	return f.Commit()
}

// Stage writes a new text beside the file, so that there is room for it when
// [File.Commit] puts it in place. Close removes what was not committed.
func (f *File) Stage(text []byte) (err error) {
	name := besideName(f.base)
	w, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("creating a new file beside it: %w", reason(err))
	}
	f.staged, f.ours = name, text
	defer func() {
		w.Close()
		if err != nil {
			f.discard()
		}
	}()
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("writing beside it: %w", reason(err))
	}
	if f.info != nil {
		if err := keep(f.held, f.info, w); err != nil {
			return err
		}
	}
	if err := w.Sync(); err != nil {
		return fmt.Errorf("syncing: %w", reason(err))
	}
	return nil
}

// Commit puts what was staged in place, if the file still is what was read.
func (f *File) Commit() error {
	defer f.discard()
	err := f.unchanged()
	if err != nil {
		return err
	}
	if f.info == nil {
		err = f.place(f.staged)
	} else if err = f.root.Rename(f.staged, f.staged+displaced); err == nil {
		f.staged += displaced
		err = f.exchange(f.ours)
	}
	if errors.Is(err, ErrChanged) {
		return err
	}
	if err != nil {
		return fmt.Errorf("replacing it: %w", reason(err))
	}
	f.syncDir()
	return nil
}

// discard removes what is staged; after a commit that is nothing.
func (f *File) discard() {
	if f.staged != "" {
		_ = f.root.Remove(f.staged)
		f.staged = ""
	}
}

// place gives a new file its name, unless somebody else has taken it.
func (f *File) place(name string) error {
	err := f.root.Link(name, f.base)
	if errors.Is(err, fs.ErrExist) {
		return ErrChanged
	}
	if err != nil { // no hard links here
		return f.root.Rename(name, f.base)
	}
	return f.root.Remove(name)
}

// Remove removes the file, if it still is what was read.
func (f *File) Remove() error {
	if err := f.unchanged(); err != nil {
		return err
	}
	// It is taken aside first: what somebody wrote in the last moment comes back.
	aside := besideName(f.base) + displaced
	if err := f.root.Rename(f.base, aside); err != nil {
		return fmt.Errorf("removing it: %w", reason(err))
	}
	f.staged = aside
	if out, err := f.stagedText(); err != nil || !bytes.Equal(out, f.Text) {
		switch err := f.place(aside); {
		case errors.Is(err, ErrChanged): // there is a newer one
			f.discard()
		case err != nil:
			f.staged = ""
			return fmt.Errorf("putting it back from %q beside it: %w", aside, reason(err))
		}
		f.staged = ""
		return ErrChanged
	}
	f.discard()
	f.syncDir()
	return nil
}

// stagedText reads what has the staged name.
func (f *File) stagedText() ([]byte, error) {
	r, err := f.root.OpenFile(f.staged, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, MaxFile+1))
}

// displaced ends the names that may hold, for a moment, what somebody else has written.
const displaced = ".old"

func besideName(base string) string { return "." + base + ".carrel-" + rand.Text()[:10] }

// Sweep removes what an edit that was killed has left beside a file, and returns the paths
// of what it keeps: what the edit had displaced and known does not say to be of its texts.
func Sweep(path string, known func(text []byte) bool) (kept []string) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	dir, base := filepath.Split(path)
	beside := regexp.MustCompile(`^\.` + regexp.QuoteMeta(base) + `\.carrel-[A-Z2-7]{10}(\` + displaced + `)?$`)
	names, _ := os.ReadDir(dir)
	for _, n := range names {
		m := beside.FindStringSubmatch(n.Name())
		if m == nil {
			continue
		}
		at := filepath.Join(dir, n.Name())
		if m[1] == displaced {
			f, err := Open(at)
			if err == nil {
				f.Close()
			}
			if err != nil || !known(f.Text) {
				kept = append(kept, at)
				continue
			}
		}
		_ = os.Remove(at)
	}
	return kept
}

// syncDir makes the change of a name last. Not every file system can, and the
// file is right either way.
func (f *File) syncDir() {
	if d, err := f.root.Open("."); err == nil {
		_ = d.Sync()
		d.Close()
	}
}

// reason is an error without the path, which the caller names.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}
