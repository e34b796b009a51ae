package disk

import (
	"errors"

	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// CopyHoles copies size bytes; what is a hole stays one. The copy grows as it is
// written, so one that a loss of power has cut off has another length.
func CopyHoles(from, to int, size int64) error {
	for at := int64(0); at < size; {
		data, err := unix.Seek(from, at, unix.SEEK_DATA)
		if err == unix.ENXIO {
			return Truncate(to, size) // a hole at the end
		}
		if err != nil {
			data = at // no such question here
		}
		end, err := unix.Seek(from, data, unix.SEEK_HOLE)
		if err != nil || end > size {
			end = size
		}
		for at = data; at < end; {
			if err := Try("copy"); err != nil {
				return err
			}
			src, dst := at, at
			n, err := unix.CopyFileRange(from, &src, to, &dst, int(min(end-at, 1<<30)), 0)
			if err != nil {
				n, err = copyBuffered(from, to, at, end)
			}
			if err != nil {
				return err
			}
			if n == 0 {
				return nil // it has become shorter: the caller sees that
			}
			at += int64(n)
		}
	}
	return nil
}

func copyBuffered(from, to int, at, end int64) (int, error) {
	buf := make([]byte, min(end-at, 1<<20))
	n, err := unix.Pread(from, buf, at)
	if err != nil || n == 0 {
		return 0, err
	}
	for done := 0; done < n; {
		w, err := unix.Pwrite(to, buf[done:n], at+int64(done))
		if err != nil {
			return 0, err
		}
		done += w
	}
	return n, nil
}

// OpenToCopy opens a file for reading, also one whose mode forbids it: that is
// another one for a moment.
func OpenToCopy(dir int, name string) (int, error) {
	fd, err := OpenAt(dir, name, unix.O_RDONLY)
	if err != unix.EACCES {
		return fd, err
	}
	pin, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(pin)
	if st, err := StateAt(pin, "", 0); err != nil || st.Kind != journal.File {
		return -1, errors.Join(err, ErrChanged)
	}
	defer Widened(pin, 0o400)()
	return OpenAt(dir, name, unix.O_RDONLY)
}
