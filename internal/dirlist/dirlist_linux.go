package dirlist

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Listing is an open directory whose names are looked at one by one.
type Listing struct {
	Dir   *os.File
	names []string // read and not yet looked at
}

// Next gives the next name of a directory, io.EOF behind the last.
func (l *Listing) Next() (string, error) {
	if len(l.names) == 0 {
		names, err := l.Dir.Readdirnames(256)
		if err != nil {
			return "", err
		}
		l.names = names
	}
	name := l.names[0]
	l.names = l.names[1:]
	return name, nil
}

// Look holds a directory without opening it, for which no permission is needed.
func Look(at int, name string) (fd int, st unix.Stat_t, err error) {
	fd, err = unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, st, err
	}
	if err = unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return -1, st, err
	}
	return fd, st, nil
}

// Unclose gives the user all that a directory's mode may have withheld.
func Unclose(fd int, st *unix.Stat_t) error {
	if st.Mode&0o700 == 0o700 {
		return nil
	}
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), st.Mode&0o7777|0o700)
}

// List opens a directory that is held.
func List(fd int, name string) (Listing, error) {
	dir, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Listing{}, err
	}
	return Listing{Dir: os.NewFile(uintptr(dir), name)}, nil
}
