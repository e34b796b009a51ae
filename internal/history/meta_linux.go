package history

import (
	"maps"
	"slices"

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
		_ = unix.Fchownat(dir, name, int(st.UID), int(st.GID), unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH)
	}
	if st.Kind != Symlink {
		if err := setXattrs(dir, name, &now, st); err != nil {
			return err
		}
		mode := st.Mode
		if st.Kind != Dir {
			mode &^= unix.S_ISUID | unix.S_ISGID
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
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(st.Mtime)}
	if name == "" {
		return unix.UtimesNanoAt(unix.AT_FDCWD, procPath(dir), times, 0)
	}
	return unix.UtimesNanoAt(dir, name, times, unix.AT_SYMLINK_NOFOLLOW)
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
	return unix.Fchmodat(unix.AT_FDCWD, procPath(fd), mode, 0)
}

func setXattrs(dir int, name string, now, st *State) error {
	if sameXattrs(now, st) {
		return nil
	}
	at := procPath(dir)
	if name != "" {
		at += "/" + name
	}
	for _, k := range slices.Sorted(maps.Keys(now.Xattrs)) {
		if _, ok := st.Xattrs[k]; !ok {
			if err := unix.Lremovexattr(at, k); err != nil && err != unix.ENODATA {
				return err
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(st.Xattrs)) {
		if err := unix.Lsetxattr(at, k, st.Xattrs[k], 0); err != nil {
			return err
		}
	}
	return nil
}
