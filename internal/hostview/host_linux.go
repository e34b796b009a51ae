package hostview

import (
	"io/fs"
	"os"
	"syscall"

	"carrel/internal/dircache"
)

func supported() error { return nil }

// The two functions below use plain system calls: os.Open would register every
// file with the runtime's poller, which costs more than reading a small file.

// openDir opens a directory that is not a link.
func openDir(p string) (*os.File, error) {
	fd, err := syscall.Open(p, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), p), nil
}

// readRegular reads at most max bytes of a regular file that is not a link.
func readRegular(p string, max int64) ([]byte, error) {
	fd, size, err := openRegular(p)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	if size > max {
		return nil, errTooLarge
	}
	return readAll(fd, max, size)
}

// openRegular opens a regular file that is not a link. It does not wait for the other end
// of a FIFO.
func openRegular(p string) (fd int, size int64, err error) {
	fd, err = syscall.Open(p, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, 0, err
	}
	var st syscall.Stat_t
	err = syscall.Fstat(fd, &st)
	if err == nil && st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		err = errNotRegular
	}
	if err != nil {
		syscall.Close(fd)
		return -1, 0, err
	}
	return fd, st.Size, nil
}

// readBeginning reads at most so many bytes of what a regular file begins with, as
// readRegular does.
func readBeginning(p string, most int) ([]byte, error) {
	fd, size, err := openRegular(p)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	buf := make([]byte, min(int64(most), size+1))
	for n := 0; ; {
		got, err := syscall.Read(fd, buf[n:])
		if err == syscall.EINTR {
			continue
		}
		if n += max(got, 0); err != nil || got <= 0 || n == len(buf) {
			return buf[:n], err
		}
	}
}

// listDir calls do for each entry of a directory that is not a link, whose name keeps
// all of buf in memory. buf is room for some entries.
func listDir(p string, buf []byte, do func(name string, dir bool)) error {
	fd, err := syscall.Open(p, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC|syscall.O_NOATIME, 0)
	if err == syscall.EPERM {
		fd, err = syscall.Open(p, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	}
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return dircache.Names(fd, buf, func(name string, kind byte) {
		dir := kind == syscall.DT_DIR
		if kind == syscall.DT_UNKNOWN { // some file systems do not say
			dir = lstatRaw(p + "/" + name).mode.IsDir()
		}
		do(name, dir)
	})
}

// readAll reads to the end, which may be further than the size said: files of
// /proc and /sys have none.
func readAll(fd int, max, size int64) ([]byte, error) {
	buf := make([]byte, 0, size+1)
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := syscall.Read(fd, buf[len(buf):cap(buf)])
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return buf, nil
		}
		if buf = buf[:len(buf)+n]; int64(len(buf)) > max {
			return nil, errTooLarge
		}
	}
}

// lstatRaw asks for the type and permission bits of one entry, and the text of
// a link.
func lstatRaw(p string) entry {
	var st syscall.Stat_t
	if err := syscall.Lstat(p, &st); err != nil {
		return entry{}
	}
	e := entry{exists: true, mode: fs.FileMode(st.Mode & 0o777)}
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFREG:
	case syscall.S_IFDIR:
		e.mode |= fs.ModeDir
	case syscall.S_IFLNK:
		e.mode |= fs.ModeSymlink
		e.link, _ = os.Readlink(p)
	default:
		e.mode |= fs.ModeIrregular
	}
	return e
}
