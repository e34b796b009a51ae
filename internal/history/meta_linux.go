package history

import (
	"os"

	"golang.org/x/sys/unix"
)

// setMeta gives an object the metadata of a state: never a set-user-id bit, and
// the owner only where that may be.
func setMeta(dir int, name string, st *State) error {
	now, err := stateAt(dir, name, withXattrs)
	if err != nil {
		return err
	}
	if now.Kind != st.Kind {
		return errChanged
	}
	if now.UID != st.UID || now.GID != st.GID {
		_ = chownAt(dir, name, st.UID, st.GID)
	}
	if st.Kind != Symlink {
		if err := setXattrs(dir, name, &now, st); err != nil {
			return err
		}
		mode := st.Mode
		if st.Kind != Dir {
			mode &^= setIDs
		}
		if now, err = stateAt(dir, name, 0); err == nil && now.Mode != mode {
			err = chmodAt(dir, name, mode)
		}
		if err != nil {
			return err
		}
	}
	if now.Mtime == st.Mtime {
		return nil
	}
	err = setMtime(dir, name, st.Mtime)
	if err == unix.EPERM && now.Kind == Dir && now.UID == st.UID && now.UID != uint32(os.Geteuid()) {
		return nil // only its owner may set it, also where others may write in it
	}
	return err
}

// ofOthers makes what may not be done an error that says why, where the reason is
// that somebody else has put something there.
func ofOthers(dir int, name string, err error) error {
	if err != unix.EPERM {
		return err
	}
	if now, e := stateAt(dir, name, 0); e == nil && now.UID != uint32(os.Geteuid()) {
		return errChanged
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
	return chmodFd(fd, mode)
}

// setIDs are the bits of a mode that an undo does not give back.
const setIDs = unix.S_ISUID | unix.S_ISGID
