package writer

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/history/store"

	"golang.org/x/sys/unix"
)

// segmentWriter writes one segment of the store: a journal, and the objects that its records
// refer to.
type segmentWriter struct {
	store   *store.Store
	segment string
	log     *disk.AppendLog
	file    *os.File
	objects int
	ignored func(path string) bool // nil: nothing is

	mu    sync.Mutex // of all that a writer knows
	step  uint64     // the one that records are written of, 0 for none
	next  uint64     // number of the next object
	frame []byte
	owed  []*journal.Record // what could not be written down of a change that was not made
	seen  time.Time         // when the segment was seen to be where it can be found
	lost  bool              // something of the segment could not be kept
	spent spending

	fresh    []uint64    // objects that are not on the disk yet
	unused   []uint64    // objects of records that are withdrawn
	unsynced bool        // something was written since the last sync
	placed   atomic.Bool // the names that lead to the journal are on the disk
	shelved  atomic.Bool // the name of the directory of its objects is on the disk
	safe     int64       // bytes of the journal that are on the disk, for the next record
}

// Segment names what is written, for [store.Store.ReadSegment].
func (w *segmentWriter) Segment() string { return w.segment }

// Lost says whether the content of something could not be kept.
func (w *segmentWriter) Lost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}

// Conclude ends a step that another writer began, or says of an undo that was ended that
// nothing is left to be done.
func (w *segmentWriter) Conclude(step uint64, e journal.End) error {
	w.step, e.Time = step, time.Now().UnixNano()
	if err := w.write(&journal.Record{End: &e}); err != nil {
		return err
	}
	w.step = 0
	return w.syncJournal()
}

// seal closes the journal for good.
func (w *segmentWriter) seal() error {
	file := w.file
	w.file = nil
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return errors.Join(err, w.log.Close())
	}
	defer unix.Close(fd)
	err = w.log.Close()
	if err == nil {
		store.Seal(fd)
	}
	return err
}

// void writes down that a step does not have a path.
func (w *segmentWriter) void(origin journal.Bytes) error {
	return w.write(&journal.Record{Pre: &journal.Pre{Path: origin, Stayed: true, Void: true}})
}

// unuse notes objects of a record that is withdrawn. They go once the journal says so
// on the disk: after a loss of power it would refer to what is not there.
func (w *segmentWriter) unuse(numbers ...uint64) {
	for _, n := range numbers {
		if n > 0 {
			w.unused = append(w.unused, n)
		}
	}
}

func (w *segmentWriter) drops(unused []uint64) {
	for _, n := range unused {
		_ = disk.UnlinkAt(w.objects, journal.ObjectName(n), 0)
	}
}

// writeOf appends a record of another step than the open one.
func (w *segmentWriter) writeOf(step uint64, r *journal.Record) error {
	open := w.step
	w.step = step
	defer func() { w.step = open }()
	return w.write(r)
}

// marked notes in a record that what it is about is not wanted, so that an undo
// leaves it alone whatever is configured then.
func (w *segmentWriter) marked(p *journal.Pre) {
	if p != nil && w.ignored != nil && !p.Stayed && p.Object == (journal.Object{}) && p.Inode == (journal.Object{}) && w.ignored(string(p.Path)) {
		p.Lost = journal.Ignored
	}
}

// numbers gives the objects that are there.
func (w *segmentWriter) numbers() (out []uint64, err error) {
	fd, err := unix.Openat(w.objects, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	d := os.NewFile(uintptr(fd), w.segment)
	defer d.Close()
	names, err := d.Readdirnames(-1)
	for _, name := range names {
		if n, ok := journal.ObjectNumber(name); ok {
			out = append(out, n)
		}
	}
	return out, err
}

// storeObject stores what is at a path. What a program outside puts there
// meanwhile is stored instead: that is what the change would destroy. ESTALE where it is
// something else by then, or nothing.
func (w *segmentWriter) storeObject(dir int, name string, st *journal.State, number uint64, leaving bool, copied *room) (by *hardLink, err error) {
	for range copyTries {
		by, err = keep(dir, name, st, w.objects, journal.ObjectName(number), leaving, copied)
		if err != unix.ESTALE && err != unix.ENOENT {
			break
		}
		now, e := disk.StateAt(dir, name, disk.WithXattrs)
		if e == unix.ENOENT {
			return nil, unix.ESTALE
		}
		if e != nil {
			return nil, e
		}
		if now.ID == st.ID { // so it is the other end that is missing
			return nil, disk.OfStore(err)
		}
		if now.Kind != journal.File {
			break
		}
		*st = now
	}
	if err == unix.ENOENT {
		err = unix.ESTALE // a program exchanges it all the time: the caller looks again
	}
	return by, err
}
