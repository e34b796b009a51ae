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
func (w *Writer) Sync() error {
	w.mu.Lock()
	objects, unused, size := w.fresh, w.unused, w.log.Size()
	w.fresh, w.unused, w.unsynced = nil, nil, false
	w.mu.Unlock()
	err := w.syncObjects(objects)
	if err == nil {
		err = w.bringJournal()
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
func (w *Writer) syncJournal() error {
	size := w.log.Size()
	err := w.bringJournal()
	if err == nil {
		w.safe, w.unsynced = size, false
	}
	return err
}

// bringJournal brings the journal to the disk, the first time with the names that
// lead to it.
func (w *Writer) bringJournal() error {
	if !w.placed.Load() {
		for _, name := range []string{"open", "journal"} {
			if err := w.store.SyncDirectory(name); err != nil && err != unix.ENOENT { // lost with the power
				return err
			}
		}
		w.placed.Store(true)
	}
	return disk.SyncFile(int(w.file.Fd()))
}

// syncObjects brings objects to the disk. Those that are links too: nobody says
// that what is linked has ever been there.
func (w *Writer) syncObjects(objects []uint64) error {
	if len(objects) == 0 {
		return nil
	}
	if len(objects) > manyObjects {
		return disk.SyncAll(w.store.FD())
	}
	for _, n := range objects {
		st, err := disk.StateAt(w.objects, journal.ObjectName(n), 0)
		switch {
		case err != nil:
			return err
		case st.Kind == journal.Absent:
			continue // it stayed after all
		case st.Kind != journal.File: // a link or a FIFO, which cannot be synced by itself
			return disk.SyncAll(w.store.FD())
		}
		fd, err := unix.Openat(w.objects, journal.ObjectName(n), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		switch {
		case err == unix.ENOENT:
			continue // it stayed after all
		case err == unix.EACCES:
			return disk.SyncAll(w.store.FD()) // its owner may not read it
		case err == nil:
			err = disk.SyncFile(fd)
			unix.Close(fd)
		}
		if err != nil {
			return err
		}
	}
	return w.syncShelf()
}

// syncShelf brings the names of objects to the disk, the first time with that of their
// directory.
func (w *Writer) syncShelf() error {
	if err := disk.SyncNames(w.objects); err != nil || w.shelved.Load() {
		return err
	}
	err := w.store.SyncDirectory("objects")
	w.shelved.Store(err == nil)
	return err
}

// syncTrees brings what was done in the roots and the store to the disk.
func (w *Writer) syncTrees() error {
	done := make(map[uint64]bool)
	for _, r := range w.roots {
		if r.FD < 0 || done[r.ID.Dev] {
			continue
		}
		done[r.ID.Dev] = true
		if err := disk.Reopened(r.FD, disk.SyncAll); err != nil {
			return err
		}
	}
	return disk.SyncAll(w.store.FD())
}
