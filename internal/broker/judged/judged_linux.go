package judged

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// defaultMost bounds what is read where nothing else is asked for, in bytes.
const defaultMost = 1 << 20

var errTooLong = errors.New("it is too long to be looked at")

// Copy is what comes in the place of a file: a copy of another one, which goes.
type Copy struct {
	Dir, ToDir   int // pinned directories
	Name, ToName string
	New          bool // it fails if something is at ToName
	Data         []byte
	Like         unix.Stat_t // the file that was read: its mode and times are the copy's
}

// Replace writes the copy beside its place and renames it there.
func Replace(c Copy) error {
	var random [8]byte
	_, _ = rand.Read(random[:])
	name := ".carrel-" + hex.EncodeToString(random[:])
	fd, err := unix.Openat(c.ToDir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.Write(c.Data)
	if err == nil {
		err = f.Chmod(os.FileMode(c.Like.Mode & 0o777))
	}
	if err == nil {
		err = SetModified(fd, c.Like.Mtim)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		flags := uint(0)
		if c.New {
			flags = unix.RENAME_NOREPLACE
		}
		err = unix.Renameat2(c.ToDir, name, c.ToDir, c.ToName, flags)
	}
	if err != nil {
		_ = unix.Unlinkat(c.ToDir, name, 0)
		return err
	}
	return unix.Unlinkat(c.Dir, c.Name, 0)
}

// ReadAt reads a small regular file by a pinned directory.
func ReadAt(dir int, name string, most int64) (data []byte, st unix.Stat_t, err error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, st, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, st, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, st, unix.EACCES
	}
	data, err = Read(fd, most)
	return data, st, err
}

// Read gives what an open file holds, of most bytes at most; 0 is 1 MiB.
func Read(fd int, most int64) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Size > cmp.Or(most, defaultMost) {
		return nil, errTooLong
	}
	data := make([]byte, st.Size)
	n, err := unix.Pread(fd, data, 0)
	if err == nil && n < len(data) {
		err = unix.ESTALE // it was cut meanwhile
	}
	return data, err
}

// SetModified sets when an open file was changed.
func SetModified(fd int, t unix.Timespec) error {
	return unix.UtimesNanoAt(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), []unix.Timespec{{Nsec: unix.UTIME_OMIT}, t}, 0)
}
