package writer

import (
	"fmt"
	"time"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// owe writes a record of which nobody can be told that it could not be written:
// then it comes before the next one, or that is not written either.
func (w *segmentWriter) owe(r *journal.Record) {
	if w.write(r) != nil {
		w.owed = append(w.owed, r)
	}
}

// write appends a record; the caller holds mu.
func (w *segmentWriter) write(r *journal.Record) error {
	for len(w.owed) > 0 {
		if err := w.append(w.owed[0]); err != nil {
			return err
		}
		w.owed = w.owed[1:]
	}
	return w.append(r)
}

func (w *segmentWriter) append(r *journal.Record) error {
	w.marked(r.Pre)
	w.lost = w.lost || r.Pre != nil && r.Pre.Lost != "" && r.Pre.Lost != journal.Ignored
	err := w.hasRoom(r)
	if err == nil {
		err = disk.Try("record")
	}
	if err == nil {
		r.Stamp, err = w.store.Stamp()
	}
	now := time.Now()
	if err == nil && now.Sub(w.seen) > aliveFor {
		if err = w.alive(); err == nil {
			w.seen = now
		}
	}
	if err == nil {
		r.Step, r.Time, r.Safe = w.step, now.UnixNano(), w.safe
		w.frame, err = journal.Encode(w.frame[:0], r)
	}
	if err == nil {
		w.unsynced = true
		err = w.log.Append(w.frame)
	}
	if err == nil {
		w.safe = 0
	}
	return disk.OfStore(err)
}

// MaxJournal is how long a journal gets before nothing more is changed: what ends a
// step has room behind it, up to what is read.
var MaxJournal int64 = 2 << 30

func (w *segmentWriter) hasRoom(r *journal.Record) error {
	ends := r.Post != nil || r.End != nil || r.Pre != nil && r.Pre.Stayed || r.Move != nil && r.Move.Failed
	if ends || w.log.Size() < MaxJournal {
		return nil
	}
	return fmt.Errorf("the journal of this run is full: %w", unix.EDQUOT)
}

// aliveFor is how long a history that was there is taken to be there still.
const aliveFor = 200 * time.Millisecond

// alive says whether what is written can be found again: a file that somebody
// removed takes everything that is written to it.
func (w *segmentWriter) alive() error {
	for _, fd := range []int{int(w.file.Fd()), w.objects} {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		if st.Nlink == 0 {
			return fmt.Errorf("somebody removed it from %q meanwhile: %w", w.store.Dir(), unix.EIO)
		}
	}
	return nil
}
