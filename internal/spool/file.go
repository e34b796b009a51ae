package spool

import (
	"fmt"
	"io"
	"os"
	"time"

	"carrel/internal/ownfile"
)

// lockWait bounds how long a writer waits for another one of the same file,
// which may be stopped.
const lockWait = 5 * time.Second

// WriteFile replaces the file NAME in a directory, with mode 0600: readers see
// the old bytes or the new ones, also after a power failure. A link of that name
// is replaced and not followed. At once, the last writer wins.
//
// The bytes are written to a file beside it, ".NAME~", under a lock that the
// kernel gives back when its holder dies. There is one such name, so what a
// killed writer left is overwritten by the next.
func WriteFile(dir *os.File, name string, data []byte) error {
	return replace(dir, name, data, (*os.File).Sync)
}

// WriteOften is WriteFile for what is replaced many times a second: after a power
// failure it may be as it was some writes ago, or empty. No disk is waited for.
func WriteOften(dir *os.File, name string, data []byte) error {
	return replace(dir, name, data, func(*os.File) error { return nil })
}

func replace(dir *os.File, name string, data []byte, sync func(*os.File) error) error {
	if err := checkName(dir, name); err != nil {
		return err
	}
	beside := "." + name + "~"
	f, err := lockNew(dir, beside)
	if err != nil {
		return err
	}
	defer f.Close() // the lock goes with it
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt(data, 0)
	}
	if err == nil {
		err = f.Chmod(0o600) // whatever the umask was
	}
	if err == nil {
		err = sync(f)
	}
	if err == nil {
		err = ownfile.Rename(dir, beside, name)
	}
	if err != nil {
		_ = ownfile.Remove(dir, beside)
		return pathError("write", dir, name, err)
	}
	return nil
}

// lockNew opens a file under its name and locks it. Its name may go to another
// file while the lock is awaited: the holder renames it.
func lockNew(dir *os.File, name string) (*os.File, error) {
	for began := time.Now(); time.Since(began) < lockWait; {
		f, err := ownfile.Open(dir, name, os.O_RDWR|os.O_CREATE)
		if err != nil {
			return nil, err
		}
		got, err := ownfile.TryLock(f)
		if err == nil && got && named(dir, name, f) {
			return f, nil
		}
		f.Close()
		if err != nil {
			return nil, pathError("lock", dir, name, err)
		}
		if !got {
			time.Sleep(time.Millisecond)
		}
	}
	return nil, pathError("lock", dir, name, fmt.Errorf("another process has it for %v", lockWait))
}

// named reports whether a name still means an open file.
func named(dir *os.File, name string, f *os.File) bool {
	now, err := ownfile.Open(dir, name, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer now.Close()
	return ownfile.Same(f, now)
}

// ReadFile reads the file NAME in a directory, of at most max bytes. It follows
// no link, and takes only a regular file of this user's with one name.
func ReadFile(dir *os.File, name string, max int64) ([]byte, error) {
	if err := checkName(dir, name); err != nil {
		return nil, err
	}
	f, err := ownfile.Open(dir, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, pathError("read", dir, name, err)
	}
	if info.Size() > max {
		return nil, pathError("read", dir, name, fmt.Errorf("%d bytes, want at most %d", info.Size(), max))
	}
	data := make([]byte, info.Size())
	n, err := io.ReadFull(f, data)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF { // somebody cuts it short: what is there
		return nil, pathError("read", dir, name, err)
	}
	return data[:n], nil
}
