package disk

import (
	"os"

	"golang.org/x/sys/unix"

	"carrel/internal/history/journal"
)

// SetMeta gives an object the metadata of a state: never a set-user-id bit, and
// the owner only where that may be.
func SetMeta(dir int, name string, st *journal.State) error {
	now, err := StateAt(dir, name, WithXattrs)
	if err != nil {
		return err
	}
	if now.Kind != st.Kind {
		return ErrChanged
	}
	if now.UID != st.UID || now.GID != st.GID {
		_ = chownAt(dir, name, st.UID, st.GID)
	}
	if st.Kind != journal.Symlink {
		if err := setXattrs(dir, name, &now, st); err != nil {
			return err
		}
		mode := st.Mode
		if st.Kind != journal.Dir {
			mode &^= SetIDs
		}
		if now, err = StateAt(dir, name, 0); err == nil && now.Mode != mode {
			err = chmodAt(dir, name, mode)
		}
		if err != nil {
			return err
		}
	}
	if now.Mtime == st.Mtime {
		return nil
	}
	err = SetMtime(dir, name, st.Mtime)
	if err == unix.EPERM && now.UID == st.UID && now.UID != uint32(os.Geteuid()) {
		return nil // only its owner may set it, also where others may write
	}
	return err
}

// OfOthers makes what may not be done an error that says why, where the reason is
// that another user has put something there.
func OfOthers(dir int, name string, err error) error {
	if err != unix.EPERM {
		return err
	}
	if now, e := StateAt(dir, name, 0); e == nil && now.UID != uint32(os.Geteuid()) {
		return ErrChanged
	}
	return err
}

// chmodAt never follows: what is there was just seen to be no link, and is pinned.
func chmodAt(dir int, name string, mode uint32) error {
	fd := dir
	if name != "" {
		var err error
		if fd, err = unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err != nil {
			return err
		}
		defer unix.Close(fd)
	}
	return ChmodFd(fd, mode)
}

// SetIDs are the bits of a mode that an undo does not give back.
const SetIDs = unix.S_ISUID | unix.S_ISGID
