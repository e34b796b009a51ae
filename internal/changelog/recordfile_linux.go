package changelog

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"carrel/internal/history/disk"

	"golang.org/x/sys/unix"
)

// Files of records are removed with the steps of their runs. A run locks its file as long
// as it writes to it.

// Dir is where the records of a project lie, below its directory in the state directory.
const Dir = "/changes"

const (
	recordSuffix = ".log"
	olderRecord  = ".1" // behind the name of a part that was full
	recordTries  = 10
	// recordSlack is by how much the time of a record that was written once may lie
	// before the beginning of the step that it belongs to.
	recordSlack = time.Minute
)

// beginRecord makes the file of a record.
func beginRecord(path string) (*disk.AppendLog, error) {
	for range recordTries {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		var st unix.Stat_t
		if err = unix.Flock(int(file.Fd()), unix.LOCK_EX); err == nil {
			err = unix.Fstat(int(file.Fd()), &st)
		}
		if err == nil && st.Nlink > 0 {
			return disk.NewAppendLog(file), nil
		}
		file.Close() // an end of another run took it for an old one
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s is removed each time that it is made", path)
}

// nextRecord begins the record of a workspace that stays anew, with one older part.
func nextRecord(path string) (*disk.AppendLog, error) {
	if err := os.Rename(path, path+olderRecord); err != nil {
		return nil, err
	}
	return beginRecord(path)
}

// Drop removes the records in a directory that are empty, and those of runs that
// ended before the oldest step that is kept began; the zero time is for a store where
// that is not known. Records of runs that go on stay.
func Drop(dir string, oldest time.Time) error {
	if dir == "" {
		return nil
	}
	d, err := os.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing old records of changes: %w", err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	for _, name := range names {
		if strings.HasSuffix(strings.TrimSuffix(name, olderRecord), recordSuffix) {
			err = errors.Join(err, dropRecord(int(d.Fd()), name, oldest))
		}
	}
	if err != nil {
		return fmt.Errorf("removing old records of changes in %q: %w", dir, err)
	}
	return nil
}

func dropRecord(dir int, name string, oldest time.Time) error {
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil || !recordIsOld(&st, oldest) {
		return recordError(name, err)
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return recordError(name, err)
	}
	defer unix.Close(fd)
	if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil // its run goes on
	}
	if err = unix.Fstat(fd, &st); err != nil || !recordIsOld(&st, oldest) {
		return recordError(name, err)
	}
	return recordError(name, unix.Unlinkat(dir, name, 0))
}

func recordIsOld(st *unix.Stat_t, oldest time.Time) bool {
	return st.Mode&unix.S_IFMT == unix.S_IFREG && (st.Size == 0 || time.Unix(st.Mtim.Unix()).Before(oldest.Add(-recordSlack)))
}

// recordError is nil where another run has removed the file.
func recordError(name string, err error) error {
	if err == nil || err == unix.ENOENT {
		return nil
	}
	return &os.PathError{Op: "remove", Path: name, Err: err}
}
