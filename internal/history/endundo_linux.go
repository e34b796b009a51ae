package history

import (
	"fmt"
	"time"
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
		for _, at := range p.paths {
			st, err := lookIn(w.roots, at)
			if err == nil && st.Kind == File {
				err = w.write(&Record{Post: &Post{Path: Bytes(at), State: st}})
			}
			if err != nil {
				return fmt.Errorf("looking at %q again: %w", at, err)
			}
		}
	}
	err := w.write(&Record{End: &End{Time: time.Now().UnixNano(), Aborted: true}})
	w.step, w.tree = 0, nil
	return err // when the writer is closed it is on the disk; until then it may be taken back once more
}

// again opens an undo that was ended.
func (w *Writer) again(number uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.step = number
	if err := w.write(&Record{End: &End{Again: true}}); err != nil {
		return err
	}
	return w.syncJournal()
}

// endUndo writes down what an undo left, and in now; it did not touch the paths in
// left. All of it is on the disk before the journal says so.
func (w *Writer) endUndo(p *Plan, now map[string]State, left []Bytes) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.syncTrees(); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for _, at := range p.paths {
		if seen[at] {
			continue
		}
		seen[at] = true
		st, err := lookIn(w.roots, at)
		if err != nil {
			return fmt.Errorf("looking at %q: %w", at, err)
		}
		w.sum(at, &st)
		if now != nil {
			now[at] = st
		}
		post := &Post{Path: Bytes(at), State: st}
		before, _ := p.Step.PreOf(at)
		switch {
		case st.Kind == Absent || before.State.Kind != Absent:
		case st.Kind == Dir && p.left[at]:
			post.Origin = post.Path
		default:
			continue // it came back with what it lies in
		}
		if o := p.origins[at]; o != "" && st.Kind != Absent {
			post.Origin = Bytes(o)
		}
		if err := w.write(&Record{Post: post}); err != nil {
			return err
		}
	}
	if err := w.write(&Record{End: &End{Time: time.Now().UnixNano(), Left: left}}); err != nil {
		return err
	}
	w.step, w.tree = 0, nil
	if err := w.lookAgain(p, now); err != nil {
		return err
	}
	return w.syncJournal()
}

// lookAgain corrects what undos before have left of files that this one has
// changed by another name.
func (w *Writer) lookAgain(p *Plan, now map[string]State) error {
	changed := make(map[ID]bool)
	for i := range p.actions {
		if a := &p.actions[i]; a.Verb == rewrite || a.Verb == meta && a.State.Kind == File && a.State.Links > 1 {
			changed[a.State.ID] = true
		}
	}
	if len(changed) == 0 {
		return nil
	}
	for at, st := range now {
		if st.Links < 2 || !changed[st.ID] {
			continue
		}
		st, err := lookIn(w.roots, at)
		if err != nil {
			return fmt.Errorf("looking at %q: %w", at, err)
		}
		now[at] = st
	}
	return nil
}
