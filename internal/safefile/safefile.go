// Package safefile replaces a file as a whole: a reader sees the old bytes or the new
// ones, also after a crash or a power failure. The new bytes go into a file beside it,
// which is synced and then renamed, and the directory is synced last.
//
// Everything happens in a directory that the caller holds open, so that the place cannot
// be exchanged between two steps. A link in the place of the file is replaced and not
// followed. The package keeps two writers from mixing their bytes, and decides nothing
// else between them: the last one wins.
//
// What replaces a file only while it is unchanged (package settings), or many times a
// second (package spool), has its own order of steps. It imports nothing of this module.
package safefile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Dir is a directory that is held open: an [os.Root], or a directory of package ownfile.
type Dir interface {
	OpenFile(name string, flag int, mode fs.FileMode) (*os.File, error)
	Rename(from, to string) error
	Remove(name string) error
}

// Options say how a file is replaced.
type Options struct {
	// Temp is the name beside the file, for a caller that lets one writer in at a time:
	// what has the name already was left by a writer that was killed, and is removed.
	// Without it the name is new each time.
	Temp string
	Mode fs.FileMode // of the new file whatever the umask is; 0 means 0600
}

// New is a file beside the one that it will replace.
type New struct {
	*os.File
	dir        Dir
	temp, name string
	path       string // of the name, for errors
	mode       fs.FileMode
	closed     bool
}

// Write replaces the file at a path.
func Write(path string, data []byte, o Options) error {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("creating a new file beside %q: %w", path, err)
	}
	defer dir.Close()
	return Replace(dir, filepath.Base(path), data, o)
}

// Replace replaces the file that has a name in a directory.
func Replace(dir Dir, name string, data []byte, o Options) error {
	n, err := Create(dir, name, o)
	if err != nil {
		return err
	}
	defer n.Discard()
	if _, err := n.Write(data); err != nil {
		return fmt.Errorf("writing beside %q: %w", n.path, reason(err))
	}
	return n.Commit()
}

// Create makes the file beside the one that has the name. [New.Commit] gives it its name,
// and [New.Discard] removes it.
func Create(dir Dir, name string, o Options) (*New, error) {
	path := name
	if d, ok := dir.(interface{ Name() string }); ok {
		path = filepath.Join(d.Name(), name)
	}
	temp := o.Temp
	if temp == "" {
		temp = "." + name + "." + rand.Text()[:10]
	} else if err := dir.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("creating a new file beside %q: %w", path, reason(err))
	}
	if o.Mode == 0 {
		o.Mode = 0o600
	}
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, o.Mode&0o600|0o600)
	if err != nil {
		return nil, fmt.Errorf("creating a new file beside %q: %w", path, reason(err))
	}
	return &New{File: f, dir: dir, temp: temp, name: name, path: path, mode: o.Mode}, nil
}

// Close ends writing and puts the bytes on the disk. What has to be checked before the
// file takes its name is checked after that.
func (n *New) Close() error {
	if n.closed {
		return nil
	}
	n.closed = true
	if err := errors.Join(n.Chmod(n.mode), n.Sync()); err != nil {
		n.File.Close()
		return fmt.Errorf("syncing what replaces %q: %w", n.path, reason(err))
	}
	if err := n.File.Close(); err != nil {
		return fmt.Errorf("closing what replaces %q: %w", n.path, reason(err))
	}
	return nil
}

// Commit closes the file and gives it its name. Where that is an error, the old file is
// there as it was, unless only the sync of the directory is: then the new one is there,
// and a power failure may bring the old one back.
func (n *New) Commit() error {
	if err := n.Close(); err != nil {
		n.Discard()
		return err
	}
	if err := n.dir.Rename(n.temp, n.name); err != nil {
		n.Discard()
		return fmt.Errorf("replacing %q: %w", n.path, reason(err))
	}
	n.temp = ""
	if err := syncDir(n.dir); err != nil {
		return fmt.Errorf("syncing the directory of %q: %w", n.path, reason(err))
	}
	return nil
}

// Discard removes the file that was not committed; after that there is nothing to do.
func (n *New) Discard() {
	if !n.closed {
		n.closed = true
		n.File.Close()
	}
	if n.temp != "" {
		_ = n.dir.Remove(n.temp)
		n.temp = ""
	}
}

// syncDir makes a rename last. Not every file system and not every user can, and the file
// is right either way.
func syncDir(dir Dir) error {
	d, ok := dir.(interface{ Sync() error })
	if !ok {
		f, err := dir.OpenFile(".", os.O_RDONLY, 0)
		if err != nil {
			return nil
		}
		defer f.Close()
		d = f
	}
	err := d.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// reason is an error without the name of the file beside, which the user did not give.
func reason(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
