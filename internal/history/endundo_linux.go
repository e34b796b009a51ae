package history

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
)

// abort closes an undo of which nothing is left: all is as it was, but that what
// was moved away and back has another time of change. p is nil where nothing was
// done.
func (w *Writer) abort(p *Plan) error {
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
		for i := range p.actions {
			if a := &p.actions[i]; a.Verb == journal.Rewrite { // what was kept of it is in it again
				w.unuse(a.To.Number)
			}
		}
	}
	err := w.write(&journal.Record{End: &journal.End{Time: time.Now().UnixNano(), Aborted: true}})
	w.step, w.tree = 0, nil
	return err // when the writer is closed it is on the disk; until then it may be taken back once more
}

// again opens an undo that was ended.
func (w *Writer) again(number uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.step = number
	if err := w.write(&journal.Record{End: &journal.End{Again: true}}); err != nil {
		return err
	}
	return w.syncJournal()
}

// endUndo writes down what an undo left; it did not touch the paths in left. All of
// it is on the disk before the journal says so.
func (w *Writer) endUndo(p *Plan, left []journal.Bytes) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.syncTrees(); err != nil {
		return err
	}
	for i := range p.posts {
		post := &p.posts[i]
		at := string(post.Path)
		st, err := disk.LookIn(w.roots, at)
		if err != nil {
			return fmt.Errorf("looking at %q: %w", at, err)
		}
		w.sum(at, &st)
		if post.State, post.Planned = st, false; st.Kind == journal.Absent {
			post.Origin, post.As, post.From = "", nil, journal.Object{}
		}
		if err := w.write(&journal.Record{Post: post}); err != nil {
			return err
		}
	}
	for i := range p.beyond {
		if err := w.endBeyond(&p.beyond[i]); err != nil {
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
func (w *Writer) endBeyond(b *journal.Beyond) error {
	st, err := w.store.Stored(b.Link)
	if err != nil || st.Kind == journal.Absent {
		return err
	}
	b.State = st
	return w.write(&journal.Record{Beyond: b})
}

// touched are the paths at which a plan finds or leaves something.
func (p *Plan) touched() []string {
	all := make(map[string]bool)
	for i := range p.pre {
		all[string(p.pre[i].Path)] = true
	}
	for i := range p.posts {
		all[string(p.posts[i].Path)] = true
	}
	return slices.Sorted(maps.Keys(all))
}
