package history

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Writer writes one segment. Before and After are called concurrently, for a
// rename or an exchange with no other change on the way.
type Writer struct {
	store   *Store
	segment string
	log     *AppendLog
	file    *os.File
	objects int
	roots   []root

	mu     sync.Mutex
	tree   *tree
	step   uint64
	next   uint64 // number of the next object
	groups map[ID]*group
	frame  []byte
	later  bool  // the step is closed by somebody else, after its writer was killed:
	alive  int64 // when that wrote its last record, in nanoseconds since 1970
	failed error // of a record that nobody could be told of
	kept   int   // objects of this step
	tally  Tally
	lost   bool // something of the segment could not be kept
}

// NewWriter begins a segment. roots are the places whose changes are told,
// canonical; run names the run.
func (s *Store) NewWriter(run string, roots []string) (*Writer, error) {
	if err := s.share(); err != nil {
		return nil, fmt.Errorf("writing history: %w", err)
	}
	w := &Writer{store: s, segment: segmentName(s.stamp(), run), objects: -1}
	if err := w.open(roots); err != nil {
		w.abandon()
		return nil, fmt.Errorf("writing history: %w", err)
	}
	return w, nil
}

func (w *Writer) open(roots []string) error {
	file, err := w.store.file("journal/"+w.segment, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	w.file, w.log = file, NewAppendLog(file)
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}
	if w.objects, err = w.store.objectsOf(w.segment, true); err != nil {
		return err
	}
	for _, path := range roots {
		r, err := openRoot(path)
		if err != nil {
			return fmt.Errorf("opening %q: %w", path, err)
		}
		w.roots = append(w.roots, r)
	}
	slices.SortFunc(w.roots, func(a, b root) int { return len(b.path) - len(a.path) })
	return nil
}

// abandon lets go of everything that a writer holds.
func (w *Writer) abandon() {
	for _, r := range w.roots {
		unix.Close(r.fd)
	}
	if w.objects >= 0 {
		unix.Close(w.objects)
	}
	if w.file != nil {
		w.file.Close()
	}
	w.store.unlock()
}

// Segment names what is written, for [Store.ReadSegment].
func (w *Writer) Segment() string { return w.segment }

// Lost says whether the content of something could not be kept.
func (w *Writer) Lost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}

// Begin opens a step and gives its number.
func (w *Writer) Begin(b Begin) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.step != 0 {
		return 0, errors.New("a step is open already")
	}
	var roots []string
	for _, r := range w.roots {
		roots = append(roots, r.path)
		b.Roots = append(b.Roots, []byte(r.path))
	}
	b.Time = time.Now().UnixNano()
	w.tree, w.groups, w.kept, w.tally = newTree(roots), make(map[ID]*group), 0, Tally{}
	w.step = w.store.number()
	return w.step, w.write(&Record{Begin: &b})
}

// write appends a record; the caller holds mu.
func (w *Writer) write(r *Record) error {
	r.Stamp, r.Step, r.Time = w.store.stamp(), w.step, time.Now().UnixNano()
	w.lost = w.lost || r.Pre != nil && r.Pre.Lost != ""
	var err error
	if w.frame, err = encode(w.frame[:0], r); err == nil {
		err = w.log.Append(w.frame)
	}
	return err
}

// Before keeps what a change is about to destroy. An error says that the change
// must not be made.
func (w *Writer) Before(c *Change) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		err := w.before(c)
		var l *LostError
		if !errors.As(err, &l) || l.object == nil {
			return err
		}
		if c.Lose != nil {
			w.mu.Unlock()
			err = c.Lose(l.Path, l.Why)
			w.mu.Lock()
			if err != nil {
				return err
			}
		}
		l.object.mayLose = true
	}
}

func (w *Writer) before(c *Change) error {
	if w.step == 0 {
		return errors.New("no step is open")
	}
	s := w.tree.find(c.Path)
	if s == nil {
		return nil
	}
	switch c.Op {
	case Content:
		w.count(c.Op, s)
		return w.content(s, false)
	case Meta:
		return w.meta(s)
	case Make:
		return w.name(s, false)
	case Remove:
		w.count(c.Op, s)
		return w.name(s, true)
	case Link:
		return w.link(s, w.tree.find(c.To))
	}
	to := w.tree.find(c.To)
	if to == nil {
		return nil
	}
	if err := w.name(s, false); err != nil {
		return err
	}
	if c.Op == Rename {
		w.count(c.Op, to)
	}
	if err := w.name(to, c.Op == Rename); err != nil {
		return err
	}
	err := w.write(&Record{Move: &move{From: []byte(c.Path), To: []byte(c.To), Exchange: c.Op == Exchange}})
	if err != nil {
		w.settle(to, err)
	}
	return err
}

// settle ends what began when something was linked because it was about to go.
// Where it did not go, the link is no copy: the next change keeps one.
func (w *Writer) settle(s *slot, failed error) {
	if s.is == nil || !s.is.linked {
		return
	}
	o := s.is
	o.linked = false
	if o.content = failed == nil; !o.content && w.write(&Record{Pre: &Pre{Path: []byte(o.origin), Stayed: true}}) == nil {
		_ = unix.Unlinkat(w.objects, objectName(o.number), 0)
	}
	if o.busy != nil {
		close(o.busy)
		o.busy = nil
	}
}

// After is told what became of a change.
func (w *Writer) After(c *Change, failed error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.step == 0 {
		return
	}
	s := w.tree.find(c.Path)
	if s == nil {
		return
	}
	to := s
	if c.To != "" {
		if to = w.tree.find(c.To); to == nil {
			return
		}
	}
	if c.Op == Remove || c.Op == Rename {
		w.settle(to, failed)
	}
	if failed != nil {
		if c.Op == Rename || c.Op == Exchange {
			w.failed = errors.Join(w.failed, w.write(&Record{Move: &move{From: []byte(c.Path), To: []byte(c.To), Exchange: c.Op == Exchange, Failed: true}}))
		}
		return
	}
	switch c.Op {
	case Make, Link:
		to.made()
		to.is.opened = c.Op == Make
	case Remove:
		s.gone()
	case Rename:
		if st, err := w.look(to); err == nil && st.Links > 1 {
			if old, err := w.look(s); err == nil && old.ID == st.ID {
				return // two names of one file: nothing happens
			}
		}
		to.moved(s)
	case Exchange:
		s.exchanged(to)
	}
}

// name keeps what is at a name, before the name gets another meaning. leaving
// says that what is there loses it.
func (w *Writer) name(s *slot, leaving bool) error {
	if s.kept {
		if leaving && s.is != nil && s.is.origin != "" {
			return w.content(s, true) // it was brought here
		}
		if s.used {
			return nil
		}
		s.used = true
		return w.write(&Record{At: []byte(s.path())}) // in a directory that the step made
	}
	if err := w.parentMeta(s); err != nil {
		return err
	}
	st, err := w.look(s)
	if err != nil {
		return err
	}
	if st.Kind == Absent {
		s.is = nil
	}
	s.kept, s.used = true, true
	return w.pre(s.is, s.origin(), s, &st, leaving)
}

// parentMeta keeps the state of the directory whose names are about to change.
func (w *Writer) parentMeta(s *slot) error {
	if s.dir == nil || s.dir.meta || s.dir.origin == "" || s.dir.at == nil {
		return nil
	}
	st, err := w.look(s.dir.at)
	if err != nil || st.Kind != Dir {
		return err
	}
	return w.pre(s.dir, s.dir.origin, s.dir.at, &st, false)
}

// meta keeps the state of what is at a name.
func (w *Writer) meta(s *slot) error {
	if s.is == nil || s.is.origin == "" || s.is.meta {
		return nil
	}
	st, err := w.look(s)
	if err != nil || st.Kind == Absent {
		return err
	}
	return w.pre(s.is, s.is.origin, s, &st, false)
}

// content keeps the content of what is at a name.
func (w *Writer) content(s *slot, leaving bool) error {
	o := s.is
	if o == nil {
		return nil
	}
	o.opened = o.opened || !leaving
	w.wait(o)
	if o.content && len(w.groups) == 0 {
		return nil
	}
	st, err := w.look(s)
	if err != nil || st.Kind == Absent {
		return err
	}
	if g := w.group(o, &st); g != nil {
		return w.shared(g, s, &st, leaving)
	}
	if o.origin == "" || o.content {
		return nil
	}
	_, err = w.keepContent(o, s, &st, leaving)
	return err
}

// link notes that two names mean one object.
func (w *Writer) link(s, to *slot) error {
	if s.is != nil && s.is.origin != "" {
		st, err := w.look(s)
		if err != nil {
			return err
		}
		if st.Kind == File { // not where it never had a name
			if err := w.pre(s.is, s.is.origin, s, &st, false); err != nil {
				return err
			}
			w.joinGroup(s.is, &st)
		}
	}
	if to == nil {
		return nil
	}
	return w.name(to, false)
}

// pre writes the state of an object down, and keeps its content where it is
// about to go. o is nil where there is nothing.
func (w *Writer) pre(o *object, origin string, s *slot, st *State, leaving bool) error {
	if o != nil {
		w.wait(o)
		g := w.group(o, st)
		if leaving && g != nil {
			return w.shared(g, s, st, true)
		}
		if leaving && st.Kind == File && !o.content {
			_, err := w.keepContent(o, s, st, leaving)
			return err
		}
		if o.meta {
			return nil
		}
		o.meta, o.id = true, st.ID
	}
	return w.write(&Record{Pre: &Pre{Path: []byte(origin), State: *st}, At: []byte(s.path())})
}

// look gives the state of what is at a slot on the disk.
func (w *Writer) look(s *slot) (State, error) {
	at := s.path()
	dir, name, err := w.parent(at)
	if missing(err) {
		return State{}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("looking at %q: %w", at, err)
	}
	defer unix.Close(dir)
	return stateAt(dir, name, withXattrs)
}

func (w *Writer) parent(path string) (int, string, error) {
	for i := range w.roots {
		if within(path, w.roots[i].path) {
			return w.roots[i].parent(path)
		}
	}
	return -1, "", unix.EXDEV
}

// End closes the step: what it left is looked at and written down. See Sync. No
// change may be on its way. What still has somebody who can write to it without
// asking is kept for the next step, which begins at once then: its number is
// given, 0 for none.
func (w *Writer) End(exit int, next *Begin) (uint64, error) {
	writers := w.stillWritten()
	if err := w.end(exit); err != nil || next == nil || len(writers) == 0 {
		return 0, err
	}
	number, err := w.Begin(*next)
	if err != nil {
		return 0, err
	}
	return number, w.keepWritten(writers)
}

func (w *Writer) end(exit int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.step == 0 {
		return nil
	}
	err := w.post()
	if err == nil {
		err = w.write(&Record{End: &End{Time: time.Now().UnixNano(), Exit: exit}})
	}
	err = errors.Join(err, w.failed)
	w.step, w.tree, w.groups = 0, nil, nil
	return err
}

// slack is how long after its last record a killed writer's changes are still
// taken for its own.
const slack = time.Second

// post writes down what the step left.
func (w *Writer) post() error {
	var err error
	w.tree.each(func(s *slot) {
		if err == nil && (s.used && s.dir != nil || s.is != nil && s.is.meta) {
			err = w.postOf(s)
		}
	})
	return err
}

func (w *Writer) postOf(s *slot) error {
	at := s.path()
	if at == "" {
		return nil
	}
	st, err := w.look(s)
	if err != nil {
		return err
	}
	p := &Post{Path: []byte(at), State: st, Uncertain: w.later && st.Kind != Absent && st.Ctime > w.alive+int64(slack)}
	if s.is != nil && s.is.origin != "" && st.Kind != Absent && (s.is.id == ID{} || s.is.id == st.ID) {
		p.Origin = []byte(s.is.origin)
	}
	return w.write(&Record{Post: p})
}

// Sync brings what was written so far to the disk: the steps that are closed
// survive a loss of power from then on.
func (w *Writer) Sync() error {
	if w.kept > 0 {
		if err := unix.Syncfs(w.store.fd); err != nil {
			return fmt.Errorf("syncing the history: %w", err)
		}
		return nil
	}
	return w.file.Sync()
}

// Close ends the segment. A step that is still open stays so: the next command
// finds it interrupted.
func (w *Writer) Close() error {
	err := w.log.Close()
	w.file = nil
	w.abandon()
	return err
}
