package history

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Recover closes the steps whose writers were killed: what they left is looked at
// now. An undo that was interrupted is finished, if all that it changes is in the
// roots. It says which steps it closed; what it cannot close stays as it is, and
// the error says why. It does nothing while somebody writes.
func (s *Store) Recover(roots []string) (closed []uint64, err error) {
	l, err := s.Survey()
	if err != nil || len(l.interrupted()) == 0 {
		return nil, err
	}
	if err := s.alone(); err != nil {
		return nil, err
	}
	defer s.unlock()
	if l, err = s.Read(); err != nil { // somebody may have done it in between
		return nil, err
	}
	defer func() {
		if err == nil {
			for _, st := range l.Steps {
				s.markClosed(st.Segment) // nobody writes: we are alone
			}
		}
	}()
	tried := make(map[uint64]bool)
	for {
		st := l.nextInterrupted(tried)
		if st == nil {
			return closed, err
		}
		tried[st.Number] = true
		var e error
		if st.undoes() {
			var more []uint64
			more, e = s.goOn(l, st, roots)
			closed = append(closed, more...)
		} else if e = s.recover(st, l, roots); e == nil {
			closed = append(closed, st.Number)
		}
		if e != nil {
			err = errors.Join(err, fmt.Errorf("step %d was interrupted and cannot be closed: %w", st.Number, e))
		}
		if l, e = s.Read(); e != nil {
			return closed, errors.Join(err, e)
		}
	}
}

// nextInterrupted gives the step that is to be closed next: of those of runs the
// newest, which knows what it moved of what the others left.
func (l *Log) nextInterrupted(but map[uint64]bool) (next *Step) {
	for _, st := range l.interrupted() {
		if !but[st.Number] && (next == nil || !st.undoes()) {
			next = st
		}
	}
	return next
}

// interrupted gives the steps that nobody will close, and the undos that had
// more to do. Those whose journal is damaged stay as they are.
func (l *Log) interrupted() (out []*Step) {
	last := make(map[string]*Step)
	for _, st := range l.Steps {
		last[st.Segment] = st
	}
	for _, st := range l.Steps {
		if !st.Live && st.Damaged == "" && (st.Open() || len(st.Begin.Rest) > 0 && last[st.Segment] == st) {
			out = append(out, st)
		}
	}
	return out
}

// recover closes a step of a run.
func (s *Store) recover(st *Step, l *Log, roots []string) error {
	if st.Begin.Roots == nil {
		for _, r := range roots {
			st.Begin.Roots = append(st.Begin.Roots, Bytes(r))
		}
	}
	w, err := s.reopen(st, l)
	if err != nil {
		return err
	}
	defer w.drop()
	w.replay(st)
	if err := w.stayed(st); err != nil {
		return err
	}
	if err := w.post(); err != nil {
		return err
	}
	if len(l.Damaged) == 0 {
		w.sweep(l) // before the end: whoever is killed in it comes here again
	}
	return w.finish()
}

// reopen gives a writer for what is missing of a step: behind the last whole
// record of its segment.
func (s *Store) reopen(st *Step, l *Log) (*Writer, error) {
	f, err := s.file("journal/"+st.Segment, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	w := &Writer{store: s, segment: st.Segment, file: f, objects: -1, step: st.Number, later: st, others: l, groups: make(map[ID]*group)}
	whole := false
	defer func() {
		if !whole {
			w.drop()
		}
	}()
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		err = w.continueAt(st, l)
	}
	if err != nil {
		return nil, err
	}
	whole = true
	return w, nil
}

func (w *Writer) continueAt(st *Step, l *Log) error {
	if time.Now().UnixNano() > st.alive { // else the clock was set back: anything may have been changed since
		w.last = st.alive
	}
	if err := truncate(int(w.file.Fd()), st.whole); err != nil {
		return err
	}
	w.log = &AppendLog{file: w.file, plain: true, start: st.whole}
	var err error
	if w.objects, err = w.store.objectsOf(w.segment, true); err != nil {
		return err
	}
	for n := range l.referenced(w.segment) {
		w.next = max(w.next, n)
	}
	present, err := w.numbers()
	if err != nil {
		return err
	}
	for _, n := range present {
		w.next = max(w.next, n)
	}
	var paths []string
	for _, r := range st.Begin.Roots {
		paths = append(paths, string(r))
	}
	w.tree = newTree(paths)
	w.roots, err = openThere(paths)
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
		r := st.trail[i]
		switch {
		case r.Move != nil:
			w.replayMove(st, i)
		case r.Pre != nil:
			w.replayPre(r)
		default:
			w.replayName(string(r.At))
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

// replayName follows a name in a directory that the step made: only there is
// nothing else written down of it.
func (w *Writer) replayName(at string) {
	s := w.tree.find(at)
	if s == nil {
		return
	}
	if s.dir != nil && s.dir.origin != "" && s.dir.at != nil && s.dir.at.dir != nil {
		s.dir.at.made()
		s = w.tree.find(at)
	}
	s.used = true
}

// replayMove follows a rename, if it was made: the last one may not have been.
func (w *Writer) replayMove(st *Step, i int) {
	m := st.trail[i].Move
	if m.Failed {
		return
	}
	last := true
	for j := i + 1; j < len(st.trail) && last; j++ {
		if next := st.trail[j].Move; next != nil {
			if next.Failed && string(next.From) == string(m.From) && string(next.To) == string(m.To) {
				return
			}
			last = false
		}
	}
	from, to := w.tree.find(string(m.From)), w.tree.find(string(m.To))
	if from == nil || to == nil {
		return
	}
	if last && m.ID != (ID{}) { // two names of one file stay two
		if now, err := lookIn(w.roots, string(m.From)); err == nil && now.ID == m.ID {
			return
		}
	}
	if m.Exchange {
		to.exchanged(from)
	} else {
		to.moved(from)
	}
}

// stayed finds what was linked since it was about to go, and is still there: the
// link is no copy, and would be a second name of it.
func (w *Writer) stayed(st *Step) error {
	now := make(map[string]*slot)
	w.tree.each(func(s *slot) {
		if s.is != nil && s.is.origin != "" {
			now[s.is.origin] = s
		}
	})
	for i := range st.Pres() {
		p := &st.pres[i]
		s := now[string(p.Path)]
		if s == nil || p.Object.Segment != w.segment {
			continue
		}
		number := objectName(p.Object.Number)
		kept, err := stateAt(w.objects, number, 0)
		if err != nil {
			return err
		}
		there, err := w.look(s)
		if err != nil {
			return err
		}
		if kept.Kind != File || kept.ID != there.ID {
			continue
		}
		if err := w.write(&Record{Pre: &Pre{Path: p.Path, Stayed: true}}); err != nil {
			return err
		}
		if err := unlinkAt(w.objects, number, 0); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes objects of which no journal knows: the record was not written
// any more.
func (w *Writer) sweep(l *Log) {
	known := l.referenced(w.segment)
	present, err := w.numbers()
	if err != nil {
		return
	}
	for _, n := range present {
		if !known[n] {
			_ = unlinkAt(w.objects, objectName(n), 0)
		}
	}
}

// numbers gives the objects that are there.
func (w *Writer) numbers() (out []uint64, err error) {
	fd, err := unix.Openat(w.objects, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	d := os.NewFile(uintptr(fd), w.segment)
	defer d.Close()
	names, err := d.Readdirnames(-1)
	for _, name := range names {
		if n, ok := objectNumber(name); ok {
			out = append(out, n)
		}
	}
	return out, err
}

// referenced gives the numbers of a segment's objects that any step knows.
func (l *Log) referenced(segment string) map[uint64]bool {
	known := make(map[uint64]bool)
	for _, st := range l.Steps {
		st.references(func(o Object) {
			if o.Segment == segment {
				known[o.Number] = true
			}
		})
	}
	return known
}

// finish ends a step that somebody else began.
func (w *Writer) finish() error {
	if err := w.write(&Record{End: &End{Time: time.Now().UnixNano(), Interrupted: true}}); err != nil {
		return err
	}
	return syncFile(int(w.file.Fd()))
}
