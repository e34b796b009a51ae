package dirlist

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// MaxDepth is how many directories a look at a tree holds open at once.
const MaxDepth = 64

// removal removes a tree that a command has made. It holds few directories open at
// once: what lies deeper is first put beside the top, so that no depth is in its way.
type removal struct {
	stack  []removing
	failed error // the first
}

// removing is a directory that is being emptied.
type removing struct {
	Listing
	name     string // in the one above
	progress bool   // something went since it was read from its beginning
}

// RemoveTree removes what a command has left, directories that it closed included. It
// removes what it can, and tells of the first that it cannot.
func RemoveTree(dir string) error {
	var r removal
	defer func() {
		for _, d := range r.stack {
			d.Dir.Close()
		}
	}()
	if err := r.enter(unix.AT_FDCWD, dir); err == unix.ENOENT {
		return nil
	} else if err != nil {
		return fmt.Errorf("removing %q: %w", dir, err)
	}
	for len(r.stack) > 0 {
		d := &r.stack[len(r.stack)-1]
		name, err := d.Next()
		switch {
		case err == nil:
			r.remove(d, name)
		case errors.Is(err, io.EOF) && d.progress: // a file system may leave out names while others go
			d.progress = false
			if _, err := d.Dir.Seek(0, io.SeekStart); err != nil {
				r.leave(err)
			}
		case errors.Is(err, io.EOF):
			r.leave(nil)
		default:
			r.leave(err)
		}
	}
	return r.failed
}

// enter opens a directory and all that is in it.
func (r *removal) enter(at int, name string) error {
	fd, st, err := Look(at, name)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_ = Unclose(fd, &st) // where it fails, what follows says so
	if len(r.stack) == MaxDepth {
		top := int(r.stack[0].Dir.Fd())
		if err = unix.Renameat(at, name, top, "deep-"+rand.Text()); err == nil {
			r.stack[0].progress, r.stack[len(r.stack)-1].progress = true, true
		}
		return err
	}
	l, err := List(fd, name)
	if err == nil {
		r.stack = append(r.stack, removing{Listing: l, name: name})
	}
	return err
}

// remove removes a name, or begins with what is in it.
func (r *removal) remove(d *removing, name string) {
	at := int(d.Dir.Fd())
	err := unix.Unlinkat(at, name, 0)
	if err == unix.EISDIR {
		if err = unix.Unlinkat(at, name, unix.AT_REMOVEDIR); err != nil {
			if err = r.enter(at, name); err != nil && err != unix.ENOENT {
				r.fail(name, err)
			}
			return
		}
	}
	if err == nil {
		d.progress = true
	} else if err != unix.ENOENT {
		r.fail(name, err)
	}
}

// leave removes the directory that was emptied last.
func (r *removal) leave(err error) {
	d := r.stack[len(r.stack)-1]
	r.stack = r.stack[:len(r.stack)-1]
	d.Dir.Close()
	if err != nil {
		r.fail(d.name, err)
	}
	at := unix.AT_FDCWD
	if len(r.stack) > 0 {
		at = int(r.stack[len(r.stack)-1].Dir.Fd())
	}
	switch err := unix.Unlinkat(at, d.name, unix.AT_REMOVEDIR); {
	case err != nil && err != unix.ENOENT: // another removal may have been faster
		r.fail(d.name, err)
	case len(r.stack) > 0:
		r.stack[len(r.stack)-1].progress = true
	default:
		r.failed = nil // what failed went at a later look
	}
}

func (r *removal) fail(name string, err error) {
	if r.failed == nil {
		r.failed = fmt.Errorf("removing %q: %w", name, err)
	}
}
