package disk

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// atOnce bounds how many threads wait for the disk at the same time.
const atOnce = 6

// Together brings things to the disk of which none has to be there before another: at the
// same time, as a file system with a journal then writes once for several, and a disk empties
// its cache once. A test that looks on sees them one after the other.
func Together(all []func() error) error {
	if len(all) < 2 || Trial != nil || Synced != nil {
		for _, one := range all {
			if err := one(); err != nil {
				return err
			}
		}
		return nil
	}
	var wg sync.WaitGroup
	errs := make([]error, len(all))
	next := make(chan int, len(all))
	for i := range all {
		next <- i
	}
	close(next)
	for range min(atOnce, len(all)) {
		wg.Go(func() {
			for i := range next {
				errs[i] = all[i]()
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

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
