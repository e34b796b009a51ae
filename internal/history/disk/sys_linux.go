package disk

import (
	"errors"
	"time"

	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// Trial is asked before each call by which the history looks at or changes a
// store or a tree, and before each record. Tests make it fail, or end the process
// there.
var Trial func(call string) error

// Synced is told of each sync just before it is made, and Seen of each state that
// was looked at, which it may change: tests record what is on the disk when, and
// give what they put there after a loss of power the inodes that it had.
var (
	Synced func(fd int, all bool)
	Seen   func(*journal.State)
)

// ErrChanged is why something was left as it is that is not what it was a moment ago.
var ErrChanged = errors.New("somebody changed it meanwhile")

// ClockTick is by how much the times that the kernel gives to files lag behind its clock, at
// most.
const ClockTick = 10 * time.Millisecond

// Try asks [Trial].
func Try(call string) error {
	if Trial == nil {
		return nil
	}
	return Trial(call)
}

// LinkAt gives an object another name, which has to be free.
func LinkAt(dir int, name string, to int, as string) error {
	if err := Try("link"); err != nil {
		return err
	}
	return unix.Linkat(dir, name, to, as, 0)
}

// LinkOpen gives an open file another name. ENOENT or EPERM also where the kernel does
// not let a user link by a descriptor, as it does since Linux 6.10 for an own one.
func LinkOpen(fd, to int, as string) error {
	if err := Try("link"); err != nil {
		return err
	}
	return unix.Linkat(fd, "", to, as, unix.AT_EMPTY_PATH)
}

// RenameNew renames to a name that is free.
func RenameNew(dir int, name string, to int, as string) error {
	if err := Try("rename"); err != nil {
		return err
	}
	err := unix.Renameat2(dir, name, to, as, unix.RENAME_NOREPLACE)
	if noFlags(err) {
		return renameChecked(dir, name, to, as)
	}
	return err
}

// noFlags says that a file system knows no flags of renameat2(2), as those of networks and of
// sshfs. EINVAL also where a directory would go below itself; then what is done instead says so.
func noFlags(err error) bool {
	return err == unix.EINVAL || err == unix.ENOSYS || err == unix.EOPNOTSUPP
}

// renameChecked looks whether the name is free. What another program puts there in the same
// moment is replaced.
func renameChecked(dir int, name string, to int, as string) error {
	var st unix.Stat_t
	switch err := unix.Fstatat(to, as, &st, unix.AT_SYMLINK_NOFOLLOW); err {
	case nil:
		return unix.EEXIST
	case unix.ENOENT:
		return unix.Renameat(dir, name, to, as)
	default:
		return err
	}
}

// RenameOver renames, in the place of what has the name.
func RenameOver(dir int, name string, to int, as string) error {
	if err := Try("rename"); err != nil {
		return err
	}
	return unix.Renameat(dir, name, to, as)
}

// Exchange lets two names change places.
func Exchange(dir int, name string, with int, as string) error {
	if err := Try("exchange"); err != nil {
		return err
	}
	err := unix.Renameat2(dir, name, with, as, unix.RENAME_EXCHANGE)
	if noFlags(err) {
		return exchangeByNames(dir, name, with, as)
	}
	return err
}

// exchangeByNames uses a third name beside the first, which is ours. A file has its place at every
// moment, by a link; a directory, or what cannot be linked, is away for a moment.
func exchangeByNames(dir int, name string, with int, as string) error {
	third := name + ".exchanged"
	err := unix.Linkat(with, as, dir, third, 0)
	if err == unix.EPERM || noFlags(err) || err == unix.EMLINK {
		err = unix.Renameat(with, as, dir, third)
	}
	if err != nil {
		return err
	}
	if err := unix.Renameat(dir, name, with, as); err != nil {
		if unix.Renameat(dir, third, with, as) == nil { // of a link this does nothing
			_ = unix.Unlinkat(dir, third, 0)
		}
		return err
	}
	return unix.Renameat(dir, third, dir, name)
}

// UnlinkAt removes a name.
func UnlinkAt(dir int, name string, flags int) error {
	if err := Try("unlink"); err != nil {
		return err
	}
	return unix.Unlinkat(dir, name, flags)
}

// MkdirAt makes a directory.
func MkdirAt(dir int, name string, mode uint32) error {
	if err := Try("mkdir"); err != nil {
		return err
	}
	return unix.Mkdirat(dir, name, mode)
}

// MknodAt makes a file, a pipe or a socket.
func MknodAt(dir int, name string, mode uint32) error {
	if err := Try("mknod"); err != nil {
		return err
	}
	return unix.Mknodat(dir, name, mode, 0)
}

// SymlinkAt makes a symlink.
func SymlinkAt(target string, dir int, name string) error {
	if err := Try("symlink"); err != nil {
		return err
	}
	return unix.Symlinkat(target, dir, name)
}

// CreateAt makes a new file and opens it for writing.
func CreateAt(dir int, name string) (int, error) {
	if err := Try("create"); err != nil {
		return -1, err
	}
	return unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
}

// OpenAt opens what is there; it neither waits nor follows.
func OpenAt(dir int, name string, flags int) (int, error) {
	if err := Try("open"); err != nil {
		return -1, err
	}
	return unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
}

// Truncate sets the size of a file.
func Truncate(fd int, size int64) error {
	if err := Try("truncate"); err != nil {
		return err
	}
	return unix.Ftruncate(fd, size)
}

// Clone makes a file share the blocks of another one.
func Clone(to, from int) error {
	if err := Try("clone"); err != nil {
		return err
	}
	return unix.IoctlFileClone(to, from)
}

// ChmodFd changes the mode of what is pinned, also by a descriptor for paths
// only, which fchmod(2) does not take.
func ChmodFd(fd int, mode uint32) error {
	if err := Try("chmod"); err != nil {
		return err
	}
	return unix.Fchmodat(unix.AT_FDCWD, ProcPath(fd), mode, 0)
}

func chownAt(dir int, name string, uid, gid uint32) error {
	if err := Try("chown"); err != nil {
		return err
	}
	return unix.Fchownat(dir, name, int(uid), int(gid), unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH)
}

// SetMtime follows no link; the name "" means the directory itself.
func SetMtime(dir int, name string, mtime int64) error {
	if err := Try("utimes"); err != nil {
		return err
	}
	at := journal.Moment(mtime)
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Sec: at.Unix(), Nsec: int64(at.Nanosecond())}}
	if name == "" {
		return unix.UtimesNanoAt(unix.AT_FDCWD, ProcPath(dir), times, 0)
	}
	return unix.UtimesNanoAt(dir, name, times, unix.AT_SYMLINK_NOFOLLOW)
}

// SyncFile waits until a file or directory is on the disk.
func SyncFile(fd int) error {
	if err := Try("sync"); err != nil {
		return err
	}
	if Synced != nil {
		Synced(fd, false)
	}
	return unix.Fsync(fd)
}

// SyncAll brings the file system of a descriptor to the disk.
func SyncAll(fd int) error {
	if err := Try("sync"); err != nil {
		return err
	}
	if Synced != nil {
		Synced(fd, true)
	}
	return unix.Syncfs(fd)
}

// StoreError is a store that failed. The program that asked for a change is not told
// anything that would mean something about the change itself: an unlink that is
// answered with ENOENT would count as done.
type StoreError struct{ err error }

// Error implements error.
func (e *StoreError) Error() string { return "the history: " + e.err.Error() }

// Unwrap implements the errors package's.
func (e *StoreError) Unwrap() []error {
	for _, own := range []error{unix.ENOSPC, unix.EDQUOT, unix.EROFS, unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EIO} {
		if errors.Is(e.err, own) {
			return []error{own, e.err}
		}
	}
	return []error{unix.EIO, e.err}
}

// Cause gives what was marked by [OfStore], where it was not the store after all.
func Cause(err error) error {
	var s *StoreError
	if errors.As(err, &s) {
		return s.err
	}
	return err
}

// OfStore marks an error as one of the store.
func OfStore(err error) error {
	if err == nil {
		return nil
	}
	return &StoreError{err}
}
