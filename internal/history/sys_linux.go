package history

import (
	"errors"

	"golang.org/x/sys/unix"

	"carrel/internal/history/journal"
)

// trial is asked before each call by which the history looks at or changes a
// store or a tree, and before each record. Tests make it fail, or end the process
// there.
var trial func(call string) error

// synced is told of each sync just before it is made, and seen of each state that
// was looked at, which it may change: tests record what is on the disk when, and
// give what they put there after a loss of power the inodes that it had.
var (
	synced func(fd int, all bool)
	seen   func(*journal.State)
)

func try(call string) error {
	if trial == nil {
		return nil
	}
	return trial(call)
}

func linkAt(dir int, name string, to int, as string) error {
	if err := try("link"); err != nil {
		return err
	}
	return unix.Linkat(dir, name, to, as, 0)
}

// linkOpen gives an open file another name. ENOENT or EPERM also where the kernel does
// not let a user link by a descriptor, as it does since Linux 6.10 for an own one.
func linkOpen(fd, to int, as string) error {
	if err := try("link"); err != nil {
		return err
	}
	return unix.Linkat(fd, "", to, as, unix.AT_EMPTY_PATH)
}

// renameNew renames to a name that is free.
func renameNew(dir int, name string, to int, as string) error {
	if err := try("rename"); err != nil {
		return err
	}
	return unix.Renameat2(dir, name, to, as, unix.RENAME_NOREPLACE)
}

func renameOver(dir int, name string, to int, as string) error {
	if err := try("rename"); err != nil {
		return err
	}
	return unix.Renameat(dir, name, to, as)
}

func exchange(dir int, name string, with int, as string) error {
	if err := try("exchange"); err != nil {
		return err
	}
	return unix.Renameat2(dir, name, with, as, unix.RENAME_EXCHANGE)
}

func unlinkAt(dir int, name string, flags int) error {
	if err := try("unlink"); err != nil {
		return err
	}
	return unix.Unlinkat(dir, name, flags)
}

func mkdirAt(dir int, name string, mode uint32) error {
	if err := try("mkdir"); err != nil {
		return err
	}
	return unix.Mkdirat(dir, name, mode)
}

func mknodAt(dir int, name string, mode uint32) error {
	if err := try("mknod"); err != nil {
		return err
	}
	return unix.Mknodat(dir, name, mode, 0)
}

func symlinkAt(target string, dir int, name string) error {
	if err := try("symlink"); err != nil {
		return err
	}
	return unix.Symlinkat(target, dir, name)
}

// createAt makes a new file and opens it for writing.
func createAt(dir int, name string) (int, error) {
	if err := try("create"); err != nil {
		return -1, err
	}
	return unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
}

// openAt opens what is there; it waits for nobody and follows nothing.
func openAt(dir int, name string, flags int) (int, error) {
	if err := try("open"); err != nil {
		return -1, err
	}
	return unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
}

func truncate(fd int, size int64) error {
	if err := try("truncate"); err != nil {
		return err
	}
	return unix.Ftruncate(fd, size)
}

func clone(to, from int) error {
	if err := try("clone"); err != nil {
		return err
	}
	return unix.IoctlFileClone(to, from)
}

// chmodFd changes the mode of what is pinned, also by a descriptor for paths
// only, which fchmod(2) does not take.
func chmodFd(fd int, mode uint32) error {
	if err := try("chmod"); err != nil {
		return err
	}
	return unix.Fchmodat(unix.AT_FDCWD, procPath(fd), mode, 0)
}

func chownAt(dir int, name string, uid, gid uint32) error {
	if err := try("chown"); err != nil {
		return err
	}
	return unix.Fchownat(dir, name, int(uid), int(gid), unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH)
}

// setMtime follows no link; the name "" means the directory itself.
func setMtime(dir int, name string, mtime int64) error {
	if err := try("utimes"); err != nil {
		return err
	}
	at := journal.Moment(mtime)
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Sec: at.Unix(), Nsec: int64(at.Nanosecond())}}
	if name == "" {
		return unix.UtimesNanoAt(unix.AT_FDCWD, procPath(dir), times, 0)
	}
	return unix.UtimesNanoAt(dir, name, times, unix.AT_SYMLINK_NOFOLLOW)
}

func syncFile(fd int) error {
	if err := try("sync"); err != nil {
		return err
	}
	if synced != nil {
		synced(fd, false)
	}
	return unix.Fsync(fd)
}

// syncAll brings the file system of a descriptor to the disk.
func syncAll(fd int) error {
	if err := try("sync"); err != nil {
		return err
	}
	if synced != nil {
		synced(fd, true)
	}
	return unix.Syncfs(fd)
}

// storeError is a store that failed. Whoever asked for a change is not told
// anything that would mean something about the change itself: an unlink that is
// answered with ENOENT would count as done.
type storeError struct{ err error }

func (e *storeError) Error() string { return "the history: " + e.err.Error() }

func (e *storeError) Unwrap() []error {
	for _, own := range []error{unix.ENOSPC, unix.EDQUOT, unix.EROFS, unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EIO} {
		if errors.Is(e.err, own) {
			return []error{own, e.err}
		}
	}
	return []error{unix.EIO, e.err}
}

func ofStore(err error) error {
	if err == nil {
		return nil
	}
	return &storeError{err}
}
