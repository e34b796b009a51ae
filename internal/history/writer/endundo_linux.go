package writer

import (
	"fmt"
	"time"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/history/store"
)

// UndoWriter writes the steps of an undo: a plan, and what became of it.
type UndoWriter struct{ *Writer }

// NewUndo begins a segment for an undo. It keeps also what is ignored.
func NewUndo(s *store.Store, roots []string) (*UndoWriter, error) {
	w, err := New(s, "undo", roots)
	if err != nil {
		return nil, err
	}
	w.ignored = nil
	return &UndoWriter{w}, nil
}

// ReopenUndo gives a writer for what is missing of an undo that was interrupted.
func ReopenUndo(s *store.Store, st *steplog.Step, l *store.Log) (*UndoWriter, error) {
	w, err := reopen(s, st, l)
	if err != nil {
		return nil, err
	}
	return &UndoWriter{w}, nil
}

// Drop lets go of what ReopenUndo has opened. The store's lock stays.
func (w *UndoWriter) Drop() { w.drop() }

// ObjectsFD is a descriptor that pins the directory of the segment's objects.
func (w *UndoWriter) ObjectsFD() int { return w.objects }

// Roots are the roots, pinned.
func (w *UndoWriter) Roots() []disk.Root { return w.roots }

// Abort closes an undo of which nothing is left: all is as it was, but that what
// was moved away and back has another time of change. p is nil where nothing was
// done.
func (w *UndoWriter) Abort(p *PlanRecords) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p != nil {
		if err := w.syncTrees(); err != nil {
			return err
		}
		for _, at := range p.touched() {
			st, err := disk.LookIn(w.roots, at)
			if err == nil && st.Kind == journal.File {
				err = w.write(&journal.Record{Post: &journal.Post{Path: journal.Bytes(at), State: st}})
			}
			if err != nil {
				return fmt.Errorf("looking at %q again: %w", at, err)
			}
		}
		for i := range p.Actions {
			if a := &p.Actions[i]; a.Verb == journal.Rewrite { // what was kept of it is in it again
				w.unuse(a.To.Number)
			}
		}
	}
	err := w.write(&journal.Record{End: &journal.End{Time: time.Now().UnixNano(), Aborted: true}})
	w.step, w.tree = 0, nil
	return err // when the writer is closed it is on the disk; until then it may be taken back once more
}

// WritePlan writes a plan down, so that one that comes after a crash can go on with it. It is on
// the disk afterwards.
func (w *UndoWriter) WritePlan(p *PlanRecords) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range p.Pre {
		if err := w.write(&journal.Record{Pre: &p.Pre[i]}); err != nil {
			return err
		}
	}
	for i := range p.Posts {
		if err := w.write(&journal.Record{Post: &p.Posts[i]}); err != nil {
			return err
		}
	}
	for i := range p.Beyond {
		if err := w.write(&journal.Record{Beyond: &p.Beyond[i]}); err != nil {
			return err
		}
	}
	for i := range p.Actions {
		if err := w.write(&journal.Record{Do: &p.Actions[i]}); err != nil {
			return err
		}
	}
	if err := w.write(&journal.Record{Ready: len(p.Actions)}); err != nil {
		return err
	}
	if err := disk.Together(w.shelfSyncs()); err != nil { // what is taken from another file system is only there
		return err
	}
	return w.syncJournal()
}

// NewObject names an object of the segment that is about to be made.
func (w *UndoWriter) NewObject() journal.Object {
	w.next++
	return journal.Object{Segment: w.segment, Number: w.next}
}

// Reserve takes numbers of n objects: those after the one that it gives.
func (w *UndoWriter) Reserve(n uint64) (after uint64) {
	after = w.next
	w.next += n
	return after
}

// LeaveOpen leaves the step as it is: the next command goes on with it.
func (w *UndoWriter) LeaveOpen() { w.step, w.unfinished = 0, true }

// Again opens an undo that was ended.
func (w *UndoWriter) Again(number uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.step = number
	if err := w.write(&journal.Record{End: &journal.End{Again: true}}); err != nil {
		return err
	}
	return w.syncJournal()
}

// EndUndo writes down what an undo left; it did not touch the paths in left. All of
// it is on the disk before the journal says so.
func (w *UndoWriter) EndUndo(p *PlanRecords, left []journal.Bytes) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.syncTrees(); err != nil {
		return err
	}
	sums := sums{roots: w.roots}
	for i := range p.Posts {
		post := &p.Posts[i]
		at := string(post.Path)
		st, err := disk.LookIn(w.roots, at)
		if err != nil {
			return fmt.Errorf("looking at %q: %w", at, err)
		}
		sums.add(at, &st)
		if post.State, post.Planned = st, false; st.Kind == journal.Absent {
			post.Origin, post.As, post.From = "", nil, journal.Object{}
		}
		if err := w.write(&journal.Record{Post: post}); err != nil {
			return err
		}
	}
	for i := range p.Beyond {
		if err := w.endBeyond(&p.Beyond[i]); err != nil {
			return err
		}
	}
	if err := w.write(&journal.Record{End: &journal.End{Time: time.Now().UnixNano(), Left: left}}); err != nil {
		return err
	}
	w.step, w.tree = 0, nil
	return w.syncJournal()
}

// endBeyond looks at a file that only has names outside by now, by its link in the
// store.
func (w *UndoWriter) endBeyond(b *journal.Beyond) error {
	st, err := w.store.Stored(b.Link)
	if err != nil || st.Kind == journal.Absent {
		return err
	}
	b.State = st
	return w.write(&journal.Record{Beyond: b})
}

// syncTrees brings what was done in the roots and the store to the disk.
func (w *UndoWriter) syncTrees() error {
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
