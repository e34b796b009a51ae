package disk

import "golang.org/x/sys/unix"

// SyncNames brings the names in a directory to the disk; where it may not be read,
// with all else there.
func SyncNames(dir int) error {
	err := Reopened(dir, SyncFile)
	if err != unix.EACCES {
		return err
	}
	up, err := unix.Openat(dir, "..", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(up)
	return SyncAll(up)
}

// Reopened opens a directory, which may be pinned for paths only, for as long as do takes.
func Reopened(dir int, do func(fd int) error) error {
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return do(fd)
}
