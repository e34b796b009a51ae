package writer

import (
	"fmt"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// manyObjects is up to how many objects are brought to the disk one by one.
const manyObjects = 64

// Sync brings what was written so far to the disk: the steps that are closed
// survive a loss of power from then on. The journal comes last: what it says is
// there by then.
func (w *segmentWriter) Sync() error {
	w.mu.Lock()
	objects, unused, size := w.fresh, w.unused, w.log.Size()
	w.fresh, w.unused, w.unsynced = nil, nil, false
	w.mu.Unlock()
	before, err := w.objectSyncs(objects)
	if err == nil {
		err = w.bringJournal(before)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.fresh, w.unused, w.unsynced = append(objects, w.fresh...), append(unused, w.unused...), true
		return fmt.Errorf("syncing the history: %w", err)
	}
	w.safe = size
	w.drops(unused)
	return nil
}

// syncJournal is Sync where nothing was kept; the caller holds mu.
func (w *segmentWriter) syncJournal() error {
	size := w.log.Size()
	err := w.bringJournal(nil)
	if err == nil {
		w.safe, w.unsynced = size, false
	}
	return err
}

// bringJournal brings the journal to the disk when all that comes before it is there: what
// the caller gives, and the first time the names that lead to the journal.
func (w *segmentWriter) bringJournal(before []func() error) error {
	placed := w.placed.Load()
	if !placed {
		for _, name := range []string{"open", "journal"} {
			before = append(before, func() error {
				if err := w.store.SyncDirectory(name); err != unix.ENOENT { // lost with the power
					return err
				}
				return nil
			})
		}
	}
	if err := disk.Together(before); err != nil {
		return err
	}
	if !placed {
		w.placed.Store(true)
	}
	return disk.SyncFile(int(w.file.Fd()))
}

// objectSyncs gives what brings objects and their names to the disk, in any order. Those that
// are links too: no sync says that what is linked has ever been there.
func (w *segmentWriter) objectSyncs(objects []uint64) ([]func() error, error) {
	if len(objects) == 0 {
		return nil, nil
	}
	whole := []func() error{func() error { return disk.SyncAll(w.store.FD()) }}
	if len(objects) > manyObjects {
		return whole, nil
	}
	var all []func() error
	for _, n := range objects {
		st, err := disk.StateAt(w.objects, journal.ObjectName(n), 0)
		switch {
		case err != nil:
			return nil, err
		case st.Kind == journal.Absent: // it stayed after all
		case st.Kind != journal.File: // a link or a FIFO, which cannot be synced by itself
			return whole, nil
		default:
			all = append(all, func() error { return syncObject(w.objects, n, w.store.FD()) })
		}
	}
	return append(all, w.shelfSyncs()...), nil
}

// shelfSyncs gives what brings the names of objects to the disk, the first time with that of
// their directory.
func (w *segmentWriter) shelfSyncs() []func() error {
	all := []func() error{func() error { return disk.SyncNames(w.objects) }}
	if !w.shelved.Load() {
		all = append(all, func() error {
			err := w.store.SyncDirectory("objects")
			w.shelved.Store(err == nil)
			return err
		})
	}
	return all
}

// syncObject brings an object of a directory to the disk, with all of the store where it cannot
// be read.
func syncObject(objects int, n uint64, store int) error {
	fd, err := unix.Openat(objects, journal.ObjectName(n), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch {
	case err == unix.ENOENT: // it stayed after all
		return nil
	case err == unix.EACCES: // its owner may not read it
		return disk.SyncAll(store)
	case err != nil:
		return err
	}
	defer unix.Close(fd)
	return disk.SyncFile(fd)
}
