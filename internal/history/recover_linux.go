package history

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Recover closes the steps whose writers were killed: what they left is looked at
// now. An undo that was interrupted is finished. It says which steps it closed.
// It does nothing while somebody writes.
func (s *Store) Recover(roots []string) ([]uint64, error) {
	l, err := s.Read()
	if err != nil {
		return nil, err
	}
	var open []*Step
	for _, st := range l.Steps {
		if st.Open() && !st.Live {
			open = append(open, st)
		}
	}
	if len(open) == 0 {
		return nil, nil
	}
	if err := s.alone(); err != nil {
		return nil, err
	}
	defer s.unlock()
	var closed []uint64
	for _, st := range open {
		if err := s.recover(st, l, roots); err != nil {
			return closed, fmt.Errorf("step %d was interrupted and cannot be closed: %w", st.Number, err)
		}
		closed = append(closed, st.Number)
	}
	return closed, nil
}

func (s *Store) recover(st *Step, l *Log, roots []string) error {
	if st.Begin.Roots == nil {
		for _, r := range roots {
			st.Begin.Roots = append(st.Begin.Roots, []byte(r))
		}
	}
	w, err := s.reopen(st)
	if err != nil {
		return err
	}
	defer w.drop()
	if st.Begin.Kind == StepUndo || st.Begin.Kind == StepRedo {
		return s.resume(w, st, l)
	}
	w.replay(st)
	if err := w.post(); err != nil {
		return err
	}
	return w.finish()
}

// reopen gives a writer for what is missing of a step: behind the last whole
// record of its segment.
func (s *Store) reopen(st *Step) (*Writer, error) {
	f, err := s.file("journal/"+st.Segment, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	w := &Writer{store: s, segment: st.Segment, file: f, objects: -1, step: st.Number, later: true, groups: make(map[ID]*group)}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = w.continueAt(st)
	}
	if err != nil {
		w.drop()
		return nil, err
	}
	return w, nil
}

func (w *Writer) continueAt(st *Step) error {
	w.alive = st.alive
	if err := w.file.Truncate(st.whole); err != nil {
		return err
	}
	if _, err := w.file.Seek(st.whole, 0); err != nil {
		return err
	}
	w.log = &AppendLog{file: w.file, plain: true}
	var err error
	if w.objects, err = w.store.objectsOf(w.segment, true); err != nil {
		return err
	}
	var paths []string
	for _, r := range st.Begin.Roots {
		paths = append(paths, string(r))
	}
	w.tree = newTree(paths)
	w.roots, err = openRoots(paths)
	return err
}

// drop lets go of what a reopened segment holds; the store's lock stays.
func (w *Writer) drop() {
	closeRoots(w.roots)
	if w.objects >= 0 {
		unix.Close(w.objects)
	}
	w.file.Close()
}

// replay follows what a step was about to do, so far as names go.
func (w *Writer) replay(st *Step) {
	for i := range st.trail {
		r := &st.trail[i]
		switch {
		case r.Move != nil:
			w.replayMove(st, i)
		case r.Pre != nil:
			w.replayPre(r)
		default:
			if s := w.tree.find(string(r.At)); s != nil {
				s.used = true
			}
		}
	}
}

func (w *Writer) replayPre(r *Record) {
	s := w.tree.find(string(r.At))
	if s == nil {
		return
	}
	s.used = s.dir != nil
	if r.Pre.State.Kind == Absent {
		s.is = nil
		return
	}
	if s.is != nil && s.is.origin == string(r.Pre.Path) {
		s.is.meta, s.is.id = true, r.Pre.State.ID
	}
}

// replayMove follows a rename, if it was made: the last one may not have been.
func (w *Writer) replayMove(st *Step, i int) {
	m := st.trail[i].Move
	if m.Failed {
		return
	}
	for j := i + 1; j < len(st.trail); j++ {
		if next := st.trail[j].Move; next != nil {
			if next.Failed && string(next.From) == string(m.From) && string(next.To) == string(m.To) {
				return
			}
			break
		}
	}
	from, to := w.tree.find(string(m.From)), w.tree.find(string(m.To))
	if from == nil || to == nil {
		return
	}
	if last := i == len(st.trail)-1; last && from.is != nil && from.is.id != (ID{}) {
		if now, err := lookIn(w.roots, string(m.From)); err == nil && now.ID == from.is.id && !m.Exchange {
			return
		}
	}
	if m.Exchange {
		to.exchanged(from)
	} else {
		to.moved(from)
	}
}

// finish ends a step that somebody else began.
func (w *Writer) finish() error {
	if err := w.write(&Record{End: &End{Time: time.Now().UnixNano(), Interrupted: true}}); err != nil {
		return err
	}
	return w.file.Sync()
}

// resume finishes an undo: what was done of its plan is found done.
func (s *Store) resume(w *Writer, st *Step, l *Log) error {
	if !st.ready {
		if err := w.write(&Record{End: &End{Time: time.Now().UnixNano(), Aborted: true}}); err != nil {
			return err
		}
		return w.file.Sync() // nothing had been changed yet
	}
	if len(st.Begin.Of) != 1 || l.Step(st.Begin.Of[0]) == nil {
		return errors.New("the step that it takes back is missing")
	}
	of := l.Step(st.Begin.Of[0])
	u := &undo{Store: s, log: l, w: w, step: of, roots: w.roots, now: make(map[string]State), resumed: true}
	if _, err := u.run(st.plan); err != nil {
		return err
	}
	p := &Plan{Step: of, origins: make(map[string]string), left: make(map[string]bool)}
	p.fromJournal(st)
	return w.endUndo(p, u.now)
}

// fromJournal takes over what endUndo needs of a plan that was made before.
func (p *Plan) fromJournal(st *Step) {
	for i := range st.Pre {
		b := &st.Pre[i]
		p.paths = append(p.paths, string(b.Path))
		if b.Becomes != nil {
			p.origins[string(b.Becomes)] = string(b.Path)
		}
	}
	for i := range st.plan {
		a := &st.plan[i]
		p.paths = append(p.paths, string(a.Path))
		if a.Verb == rmdir {
			p.left[string(a.Path)] = true
		}
	}
}
