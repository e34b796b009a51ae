package writer

import (
	"time"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/history/store"

	"golang.org/x/sys/unix"
)

// reopened is a step of a writer that was killed: what it left is looked at now, when steps may
// have been made since.
type reopened struct {
	closing
	keep     *preimages
	later    *steplog.Step       // what is known of it
	others   *store.Log          // all steps that are known
	killed   bool                // and no power was lost since
	anchored map[uint64]int      // how many paths refer to a link in the store
	last     int64               // when the writer wrote its last record, in nanoseconds since 1970
	ours     map[journal.ID]bool // their time of change is that of closing the step
}

// CloseStep closes a step of a run whose writer was killed: what it left is looked at now.
func CloseStep(s *store.Store, st *steplog.Step, l *store.Log, roots []string) error {
	if st.Begin.Roots == nil {
		for _, r := range roots {
			st.Begin.Roots = append(st.Begin.Roots, journal.Bytes(r))
		}
	}
	w, err := reopen(s, st, l)
	if err != nil {
		return err
	}
	defer w.drop()
	r := &reopened{closing: closing{knowledge: &w.knowledge}, keep: &w.preimages, later: st, others: l,
		killed: s.BegunThisBoot(st.Segment), ours: make(map[journal.ID]bool)}
	if time.Now().UnixNano() > st.Alive { // else the clock was set back: anything may have been changed since
		r.last = st.Alive
	}
	replay(w.tree, w.roots, st)
	if err := r.stayed(); err != nil {
		return err
	}
	if len(l.Damaged) == 0 {
		r.sweep() // before the end: a process that is killed in it comes here again
	}
	if err := r.strays(r.strayed()); err != nil {
		return err
	}
	if err := r.post(); err != nil {
		return err
	}
	if err := r.beyond(); err != nil {
		return err
	}
	if len(w.unused) > 0 {
		if err := w.syncJournal(); err != nil {
			return err
		}
		w.drops(w.unused)
	}
	return w.Conclude(st.Number, journal.End{Interrupted: true})
}

// reopen gives a writer for what is missing of a step: behind the last whole
// record of its segment.
func reopen(s *store.Store, st *steplog.Step, l *store.Log) (*Writer, error) {
	g, err := s.ReopenSegment(st.Segment)
	if err != nil {
		return nil, err
	}
	w := new(Writer)
	w.store, w.segment, w.file, w.objects, w.groups = s, g.Name, g.Journal, g.Objects, make(map[journal.ID]*group)
	if st.Open() {
		w.step = st.Number
	}
	if err := w.continueAt(st, l); err != nil {
		w.drop()
		return nil, err
	}
	return w, nil
}

func (w *Writer) continueAt(st *steplog.Step, l *store.Log) error {
	if err := disk.Truncate(int(w.file.Fd()), st.Whole); err != nil {
		return err
	}
	w.log = disk.ContinueLog(w.file, st.Whole)
	for n := range l.Referenced(w.segment) {
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
	w.roots, err = disk.OpenThere(paths)
	return err
}

// drop lets go of what a reopened segment holds; the store's lock stays.
func (w *Writer) drop() {
	disk.CloseRoots(w.roots)
	if w.objects >= 0 {
		unix.Close(w.objects)
	}
	w.file.Close()
}

// stayed finds what was linked since it was about to go, and is still there: the
// link is no copy, and would be a second name of it.
func (r *reopened) stayed() error {
	now := r.tree.byOrigin()
	for i := range r.later.Pres() {
		p := &r.later.Pres()[i]
		s := now[string(p.Path)]
		if s == nil || p.Object.Segment != r.segment {
			continue
		}
		number := journal.ObjectName(p.Object.Number)
		kept, err := disk.StateAt(r.objects, number, 0)
		if err != nil {
			return err
		}
		there, err := r.look(s)
		if err != nil {
			return err
		}
		lost := journal.Same(&there, &p.State) && !journal.Like(&kept, &journal.State{Kind: journal.File, Size: p.State.Size, Mtime: kept.Mtime}) // with the power: it did not reach the disk
		if !lost && (kept.Kind != journal.File || kept.ID != there.ID) {
			continue
		}
		if err := r.write(&journal.Record{Pre: &journal.Pre{Path: p.Path, Stayed: true}}); err != nil {
			return err
		}
		if lost {
			continue
		}
		if err := disk.UnlinkAt(r.objects, number, 0); err != nil {
			return err
		}
		if there.Ctime <= r.last+int64(slack) {
			r.ours[there.ID] = true
		}
	}
	return nil
}

// sweep removes objects of which no journal knows: the record was not written
// any more, so the change was not made.
func (r *reopened) sweep() {
	known, killed := r.others.Referenced(r.segment), r.killed
	present, err := r.numbers()
	if err != nil {
		return
	}
	for _, n := range present {
		if known[n] {
			continue
		}
		if is, err := disk.StateAt(r.objects, journal.ObjectName(n), 0); err == nil && is.Kind != journal.Dir && is.Links > 1 {
			if r.touch(is.ID) != nil {
				return // it waits for somebody who can write that down
			}
			r.ours[is.ID] = r.ours[is.ID] || is.Ctime <= r.last+int64(slack)
		} else if !killed {
			continue // it may be all that is left of something whose record was lost with the power
		}
		_ = disk.UnlinkAt(r.objects, journal.ObjectName(n), 0)
	}
}

// touch notes a file that gets another time of change, as a link to it goes, where
// a step says what that was.
func (r *reopened) touch(id journal.ID) error {
	for _, st := range r.others.Steps {
		for _, q := range st.Posts() {
			if q.State.ID != id {
				continue
			}
			s := r.tree.find(string(q.Path))
			if s == nil || s.is == nil || s.is.origin == "" || s.is.meta {
				continue
			}
			now, err := r.look(s)
			if err != nil || now.ID != id {
				continue
			}
			if err := r.keep.pre(s.is, s.is.origin, s, &now, false); err != nil {
				return err
			}
			s.used = true
		}
	}
	return nil
}

// post writes down what the step left.
func (r *reopened) post() (err error) {
	r.tree.each(func(s *slot) {
		if err != nil || !s.noted() {
			return
		}
		if at := s.path(); at != "" {
			err = r.postLater(s, at)
		}
	})
	return err
}

// postLater is postOf for a step of a writer that was killed. Steps may have been made
// since; then it left what they found.
func (r *reopened) postLater(s *slot, at string) error {
	if _, ok := r.later.PostOf(at); ok {
		return r.postAgain(s, at) // seen when the step ended
	}
	st, now, found := r.others.LeftBy(r.later, at)
	if !found {
		var err error
		if st, err = disk.LookIn(r.roots, now); err != nil {
			return err
		}
	}
	if void, err := r.voidLater(s, &st); void || err != nil {
		return err
	}
	return r.writePost(s, &journal.Post{Path: journal.Bytes(at), State: st, Uncertain: st.Kind != journal.Absent && st.Ctime > r.last+int64(slack) && !r.ours[st.ID]})
}

// postAgain corrects what was seen when a step was about to end, if a loss of power
// has put back what the step had found.
func (r *reopened) postAgain(s *slot, at string) error {
	was, ok := r.later.PreOf(at)
	left, _ := r.later.PostOf(at)
	if !ok {
		was = journal.Pre{}
	}
	now, err := disk.LookIn(r.roots, at)
	if err != nil || journal.AsLeft(&now, &left.State) {
		return err
	}
	if back := journal.Same(&now, &was.State) && !journal.Same(&now, &left.State); !back && !journal.AsLeft(&now, &was.State) {
		return nil
	}
	return r.writePost(s, &journal.Post{Path: journal.Bytes(at), State: now})
}

// slack is how long after its last record a killed writer's changes are still
// taken for its own.
const slack = time.Second

// beyond is that for a step of a writer that was killed.
func (r *reopened) beyond() error {
	named := make(map[journal.ID]bool)
	for _, s := range r.tree.byOrigin() {
		if now, err := r.look(s); err == nil {
			named[now.ID] = true
		}
	}
	told := make(map[journal.ID]bool)
	for i := range r.later.Pres() {
		p := &r.later.Pres()[i]
		id := p.State.ID
		if p.Inode.Segment != r.segment || named[id] || told[id] {
			continue
		}
		told[id] = true
		if err := r.writeBeyond(p.Path, id, p.Inode.Number, nil); err != nil {
			return err
		}
	}
	return nil
}

// strayed is that for a step of a killed writer, which may name some that
// no process has opened.
func (r *reopened) strayed() map[journal.ID]*journal.Pre {
	out, known := make(map[journal.ID]*journal.Pre), make(map[journal.ID]bool)
	now := r.tree.byOrigin()
	there := func(p *journal.Pre) bool {
		s := now[string(p.Path)]
		if s == nil {
			return false
		}
		st, err := r.look(s)
		return err == nil && st.ID == p.State.ID
	}
	for i := range r.later.Pres() {
		p := &r.later.Pres()[i]
		switch id := p.State.ID; {
		case p.State.Kind != journal.File || p.State.Links < 2:
		case p.Inode != (journal.Object{}) || there(p):
			known[id] = true
		case p.Object != (journal.Object{}):
			out[id] = p
		}
	}
	for id := range known {
		delete(out, id)
	}
	return out
}

// voidLater is withdraw for a step of a killed writer: it is not known which of its
// calls failed, but what has not changed at all is none of the step's. After a loss
// of power the content of a file can be new and its times old.
func (r *reopened) voidLater(s *slot, now *journal.State) (bool, error) {
	was, ok := r.later.PreOf(s.origin())
	if !ok || !r.killed || !r.untouched(now, &was.State) {
		return false, nil
	}
	if was.Object.Segment == r.segment {
		r.unuse(was.Object.Number)
	}
	if n := was.Inode.Number; was.Inode.Segment == r.segment {
		if r.anchored == nil {
			r.anchored = steplog.AnchorsIn(r.later, r.segment)
		}
		if r.anchored[n]--; r.anchored[n] == 0 { // no other name refers to it
			r.unuse(n)
		}
	}
	return true, r.void(was.Path)
}

// untouched reports whether all of something is as it was found.
func (r *reopened) untouched(now, found *journal.State) bool {
	return now.Kind == found.Kind && now.ID == found.ID && now.Mode == found.Mode && now.UID == found.UID && now.GID == found.GID &&
		now.Size == found.Size && now.Mtime == found.Mtime && (now.Ctime == found.Ctime || r.ours[now.ID]) && journal.AgreeXattrs(now, found)
}
