// Package ownfs makes files with a umask and a working directory that are a thread's own,
// unshare(2) with CLONE_FS, also where that call is refused: the seccomp profiles of container
// engines do so.
package ownfs

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Context makes names. It is for the thread that has asked for it.
type Context struct {
	beside *thread // makes them where the calling thread cannot have a context of its own
	first  int     // the umask that the context began with
	now    int
}

// Separate gives the calling thread, which is locked and stays so, a context of its own, or
// another thread that has one and the same capabilities.
func Separate() (*Context, error) {
	refused := unix.Unshare(unix.CLONE_FS)
	if refused != nil {
		return beside(refused)
	}
	c := &Context{first: unix.Umask(0o077)}
	unix.Umask(c.first)
	c.now = c.first
	return c, nil
}

func beside(refused error) (*Context, error) {
	t, err := startThread()
	if err != nil {
		return nil, fmt.Errorf("separating a thread's umask: %w; %w", refused, err)
	}
	return &Context{beside: t, now: -1}, nil
}

// Close ends what the context has started.
func (c *Context) Close() {
	if c.beside != nil {
		c.beside.close()
	}
}

// Own says whether the calling thread's working directory is its own.
func (c *Context) Own() bool { return c.beside == nil }

// Under has do make names under a umask. The mode is not computed: a default ACL makes the
// kernel leave the umask out.
//
// The umask stays for the next one, unless it takes the owner's permissions away: what
// the calling thread makes for itself is for the owner alone by its mode.
func (c *Context) Under(mask int, do func() error) error {
	c.set(mask)
	if c.beside == nil && mask&unix.S_IRWXU != 0 {
		defer c.set(c.first)
	}
	return do()
}

func (c *Context) set(mask int) {
	switch {
	case mask == c.now:
		return
	case c.beside != nil:
		c.beside.umask(mask)
	default:
		unix.Umask(mask)
	}
	c.now = mask
}

// Openat is openat(2).
func (c *Context) Openat(dir int, path string, flags int, mode uint32) (int, error) {
	if c.beside == nil {
		return unix.Openat(dir, path, flags, mode)
	}
	return c.beside.named(unix.SYS_OPENAT, dir, path, uintptr(flags), uintptr(mode))
}

// Mkdirat is mkdirat(2).
func (c *Context) Mkdirat(dir int, path string, mode uint32) error {
	if c.beside == nil {
		return unix.Mkdirat(dir, path, mode)
	}
	_, err := c.beside.named(unix.SYS_MKDIRAT, dir, path, uintptr(mode))
	return err
}

// Mknodat is mknodat(2) for what is no device.
func (c *Context) Mknodat(dir int, path string, mode uint32) error {
	if c.beside == nil {
		return unix.Mknodat(dir, path, mode, 0)
	}
	_, err := c.beside.named(unix.SYS_MKNODAT, dir, path, uintptr(mode), 0)
	return err
}

// here keeps an "@" at the start of a name from meaning an abstract one.
const here = "./"

// BindAt gives a socket a name in a directory. A thread that has a working directory of its
// own stays there.
func (c *Context) BindAt(socket, dir int, name string) error {
	if c.beside != nil {
		return c.beside.bindAt(socket, dir, name)
	}
	if err := unix.Fchdir(dir); err != nil {
		return err
	}
	return unix.Bind(socket, &unix.SockaddrUnix{Name: here + name})
}
