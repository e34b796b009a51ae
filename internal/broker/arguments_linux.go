package broker

import (
	"encoding/binary"
	"strings"

	"golang.org/x/sys/unix"

	"carrel/internal/broker/caller"
)

// targetText reads a target's path, "" where it has none.
func (w *arguments) targetText(t target) (string, error) {
	if t.here {
		return "", nil
	}
	if t.path != "" {
		return t.path, nil
	}
	return w.memory.Text(t.addr, 0)
}

// timespecs reads two of them from the caller; nil for a null pointer.
func (w *arguments) timespecs(addr uint64) (*[2]unix.Timespec, error) {
	if addr == 0 {
		return nil, nil
	}
	var buf [32]byte
	if err := w.memory.ReadExact(addr, buf[:]); err != nil {
		return nil, err
	}
	var ts [2]unix.Timespec
	for i := range ts {
		ts[i].Sec = int64(binary.NativeEndian.Uint64(buf[16*i:]))
		ts[i].Nsec = int64(binary.NativeEndian.Uint64(buf[16*i+8:]))
	}
	return &ts, nil
}

func (w *arguments) xattrName(addr uint64) (string, error) {
	name, err := w.memory.Text(addr, 1)
	switch {
	case err == unix.ENAMETOOLONG:
		return "", unix.ERANGE
	case err != nil:
		return "", err
	case name == "" || len(name) > maxXattrName:
		return "", unix.ERANGE
	case strings.HasPrefix(name, "security."), strings.HasPrefix(name, "trusted."):
		return "", unix.EPERM // file capabilities, labels: not to be given here
	}
	return name, nil
}

// structure reads a structure that newer programs may know as a longer one:
// what is beyond buf has to be zero (copy_struct_from_user of the kernel).
func (w *arguments) structure(addr, size uint64, buf []byte) error {
	if size < uint64(len(buf)) {
		return unix.EINVAL
	}
	if size > caller.PageSize {
		return unix.E2BIG
	}
	whole := make([]byte, size)
	if err := w.memory.ReadExact(addr, whole); err != nil {
		return err
	}
	for _, b := range whole[copy(buf, whole):] {
		if b != 0 {
			return unix.E2BIG
		}
	}
	return nil
}

// maybeEmpty is the target of a call whose flags, argument n, let an empty path
// or none mean the descriptor: unlike older calls, never one opened with O_PATH.
func (w *arguments) maybeEmpty(c *Call, n int) (target, error) {
	flags := uint32(c.Args[n])
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return target{}, unix.EINVAL
	}
	t := atFlags(c, n)
	if !t.empty {
		return t, nil
	}
	t.empty = false // this is where it is looked at
	path := ""
	if t.addr != 0 {
		var err error
		if path, err = w.memory.Text(t.addr, 0); err != nil {
			return target{}, err
		}
	}
	if path == "" {
		t.here = t.dirfd == unix.AT_FDCWD
		t.byFD = !t.here
	}
	return t, nil
}
