package steplog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"carrel/internal/history/journal"
)

// Renumber gives the numbers that file systems have now, by those that they had when a
// step began; nil where none has changed.
type Renumber func(b *journal.Begin) map[uint64]uint64

// Step is one step as the journal tells it.
type Step struct {
	changes

	Number   uint64
	Segment  string
	Begin    journal.Begin
	End      *journal.End // nil while it is open, or where its writer was killed
	Live     bool         // its writer still writes
	UndoneBy uint64       // the step that took it back whole, 0 for none

	takers []*Step // that took it back, also in parts
	Beyond []journal.Beyond
	counts *journal.Counts // nil where they are not known before it is read
	Refs   *Refs           // likewise
	from   int64           // where its records begin in the segment
	to     int64           // and end

	Stamp      uint64 // of its beginning
	Last       uint64 // of the last moment when its writer may have changed something
	Alive      int64  // when its writer lived for certain, nanoseconds since 1970
	Plan       []journal.Action
	Ready      bool
	renumbered map[uint64]uint64 // devices that have other numbers by now

	Trail []*journal.Record // of a step without an end: what was about to happen, in order
	Whole int64             // bytes of the segment's whole records
}

// changes are what a step found and what it left, read when they are asked for.
type changes struct {
	Damaged string       // why it cannot be used, "" where it can
	Unread  func() error // reads what it changed; nil where that is done

	pres    []journal.Pre
	posts   []journal.Post
	between []journal.Pre
	pre     map[string]int // places in pres by path
	post    map[string]int
	voided  bool               // some of pres are
	moved   map[string]string  // origins to paths
	files   map[journal.ID]int // of Post, those with several names
	First   []uint64           // stamps of Pre: when the step first touched each
}

func noChanges() changes { return changes{pre: make(map[string]int), post: make(map[string]int)} }

// Open says whether the step was never closed.
func (s *Step) Open() bool { return s.End == nil }

// Undoes says whether a step is an undo or a redo.
func (s *Step) Undoes() bool {
	return s.Begin.Kind == journal.StepUndo || s.Begin.Kind == journal.StepRedo
}

// Pres are the paths that the step changed, as it found them, in the order of its
// changes; of what cannot be read there is none, and Damaged says why.
func (s *changes) Pres() []journal.Pre {
	s.Read()
	return s.pres
}

// Posts are the same paths as the step left them, once it is closed.
func (s *changes) Posts() []journal.Post {
	s.Read()
	return s.posts
}

// Read reads what the step changed, if that has not been done.
func (s *changes) Read() {
	defer s.dropVoid()
	read := s.Unread
	if s.Unread = nil; read == nil {
		return
	}
	if err := read(); err != nil {
		s.Damaged = err.Error()
	}
}

// dropVoid leaves out what was withdrawn.
func (s *changes) dropVoid() {
	if !s.voided {
		return
	}
	s.voided = false
	pres, first := s.pres[:0], s.First[:0]
	for i := range s.pres {
		if !s.pres[i].Void {
			s.pre[string(s.pres[i].Path)] = len(pres)
			pres, first = append(pres, s.pres[i]), append(first, s.First[i])
		}
	}
	clear(s.pres[len(pres):])
	s.pres, s.First = pres, first
}

// Lost lists the paths of which the content was not kept.
func (s *changes) Lost() []journal.Pre {
	var out []journal.Pre
	for _, p := range s.Pres() {
		if p.Lost != "" {
			out = append(out, p)
		}
	}
	return out
}

// PreOf gives what the step found at an origin.
func (s *changes) PreOf(path string) (journal.Pre, bool) {
	s.Read()
	i, ok := s.pre[path]
	if !ok {
		return journal.Pre{}, false
	}
	return s.pres[i], true
}

// Log is what all journals of a store say: its steps in their order.
type Log struct {
	Steps []*Step
	// Damaged lists segments in which something is unreadable, or that cannot be
	// read. What a crash leaves at the end of one is no damage.
	Damaged []string

	Stamp, Number uint64
	Counted       uint64 // the last stamp that was given when this was read
	unreadable    error  // what could not be read later

	Fruitless []*Step          // undos of which nothing came, as far as the steps before have to know
	Hidden    []*Step          // what is discarded, and steps before it have to know
	Known     []*Step          // Steps, and what is hidden among them
	partly    []*Step          // undos of a part of a step
	Broken    map[string]bool  // segments that tell less than was written
	Torn      map[string]int64 // bytes of segments that a loss of power left in parts, up to there
}

// NewStep is a step that is over, as it will be read: what it found, and what it left.
func NewStep(number uint64, begin journal.Begin, pres []journal.Pre, posts []journal.Post, beyond []journal.Beyond) *Step {
	s := &Step{Number: number, Begin: begin, End: &journal.End{}, changes: noChanges(), Beyond: beyond}
	for i := range pres {
		s.addPre(&pres[i], 0)
	}
	for i := range posts {
		s.AddPost(&posts[i])
	}
	return s
}

// Recount makes the counts of a step be found anew, as more becomes known of it.
func (s *Step) Recount() { s.counts = nil }

// New is a log of no journals. counted is the last stamp that was given before they
// are read.
func New(counted uint64) Log {
	return Log{Counted: counted, Broken: make(map[string]bool), Torn: make(map[string]int64)}
}

func (s *Step) add(r *journal.Record) {
	s.Alive = max(s.Alive, r.Time)
	if r.At != "" || r.Move != nil || r.Begin != nil || r.End != nil && !r.End.Interrupted {
		s.Last = r.Stamp
	}
	if r.At != "" || r.Move != nil {
		s.Trail = append(s.Trail, r)
		s.forget() // it was about to end, and went on
	}
	switch {
	case r.Begin != nil:
		s.Begin = *r.Begin
	case r.Pre != nil:
		s.addPre(r.Pre, r.Stamp)
	case r.Between != nil:
		s.addBetween(r.Between)
	case r.Post != nil:
		s.AddPost(r.Post)
	case r.Beyond != nil:
		s.addBeyond(r.Beyond)
	case r.End != nil && r.End.Again:
		s.End = nil
		s.forget()
	case r.End != nil && r.End.Alone && s.End != nil:
		s.Begin.Rest = nil
	case r.End != nil:
		s.End, s.Trail = r.End, nil
	case r.Do != nil:
		s.Plan = append(s.Plan, *r.Do)
	case r.Ready > 0:
		s.Ready = r.Ready == len(s.Plan)
	}
}

// forget drops what the step was said to have left.
func (s *Step) forget() {
	if len(s.posts) > 0 {
		s.posts, s.Beyond, s.post = nil, nil, make(map[string]int)
	}
}

// AddPost takes what was seen last.
func (s *changes) AddPost(p *journal.Post) {
	s.files = nil
	if i, ok := s.post[string(p.Path)]; ok {
		s.posts[i] = *p
		return
	}
	if i, ok := s.pre[string(p.Path)]; ok {
		p.Path = s.pres[i].Path // of which there is one copy then
	}
	s.post[string(p.Path)] = len(s.posts)
	s.posts = append(s.posts, *p)
}

// addBeyond takes what was seen last.
func (s *Step) addBeyond(b *journal.Beyond) {
	for i := range s.Beyond {
		if s.Beyond[i].Path == b.Path {
			s.Beyond[i] = *b
			return
		}
	}
	s.Beyond = append(s.Beyond, *b)
}

// addPre takes what is known of an origin: the state that was seen first, and
// the content that was kept later.
func (s *Step) addPre(p *journal.Pre, stamp uint64) {
	objects := []*journal.Object{&p.Object, &p.Inode}
	if p.Within != nil {
		objects = append(objects, &p.Within.Object)
	}
	for _, o := range objects {
		if *o != (journal.Object{}) && !journal.ValidSegment(o.Segment) {
			*o, p.Lost = journal.Object{}, badSegment
		}
		if o.Segment == s.Segment {
			o.Segment = s.Segment // and not a copy for each
		}
	}
	i, ok := s.pre[string(p.Path)]
	if p.Void {
		if ok {
			delete(s.pre, string(p.Path))
			s.pres[i].Void, s.voided = true, true
		}
		return
	}
	if !ok {
		s.pre[string(p.Path)] = len(s.pres)
		s.pres, s.First = append(s.pres, *p), append(s.First, stamp)
		return
	}
	known := &s.pres[i]
	if p.Stayed {
		known.Object = journal.Object{}
		return
	}
	if p.Object != (journal.Object{}) || known.Object == (journal.Object{}) { // what was linked and then stayed is copied once it changes
		known.Object, known.Lost = p.Object, p.Lost
		if p.Inode == (journal.Object{}) && p.Lost == "" {
			known.State.Size = p.State.Size // of what was kept: others may have written since the step had first touched it
		}
	}
	if known.Inode == (journal.Object{}) {
		known.Inode = p.Inode
	}
}

// Unreadable says what was asked for later and could not be read, nil for nothing.
func (l *Log) Unreadable() error { return l.unreadable }

// Settle puts the steps of all journals in order, finds out what became of each, and
// takes away those that are gone.
func (l *Log) Settle(gone func(*Step) bool) {
	slices.SortStableFunc(l.Steps, func(a, b *Step) int { return cmp.Compare(a.Number, b.Number) })
	l.aborted()
	l.unique()
	l.link()
	l.hide(gone)
}

// unique leaves one step of each number: two of one number are told apart by
// nobody.
func (l *Log) unique() {
	l.Steps = slices.CompactFunc(l.Steps, func(a, b *Step) bool {
		if a.Number != b.Number {
			return false
		}
		a.Damaged = fmt.Sprintf("segments %s and %s both have a step %d", a.Segment, b.Segment, a.Number)
		l.Damaged = append(l.Damaged, a.Damaged)
		l.Broken[a.Segment], l.Broken[b.Segment] = true, true
		return true
	})
}

// link finds out which steps have been taken back.
func (l *Log) link() {
	byNumber := make(map[uint64]*Step)
	for _, s := range l.Steps {
		byNumber[s.Number] = s
	}
	for _, s := range l.Steps {
		if s.End != nil && (s.Begin.Partly || len(s.End.Left) > 0) {
			l.partly = append(l.partly, s)
		}
		if s.End == nil {
			continue
		}
		for _, n := range s.Begin.Of {
			of := byNumber[n]
			if of == nil || of.Number >= s.Number {
				continue
			}
			of.takers = append(of.takers, s)
			if !s.Begin.Partly && len(s.End.Left) == 0 {
				of.UndoneBy = s.Number
			}
		}
	}
}

// aborted takes undos away of which nothing is left but that what they moved back
// is another file, or has another time of change, than the steps before them say.
func (l *Log) aborted() {
	for _, s := range l.Steps {
		if s.Unread == nil && s.End != nil && s.End.Aborted && len(s.Posts()) > 0 { // the index has none such
			l.Fruitless = append(l.Fruitless, s)
		}
	}
	for _, s := range l.Steps {
		if s.Unread == nil {
			l.movedBack(s)
		}
	}
	l.Steps = slices.DeleteFunc(l.Steps, func(s *Step) bool { return s.End != nil && s.End.Aborted })
}

// movedBack makes a step say what undos after it that came to nothing moved away
// and back: which file it is by now, and since when. Its mode, owner and attributes are those
// that this step left: an undo of another step may have found others.
func (l *Log) movedBack(before *Step) {
	for _, s := range l.Fruitless {
		if s.Number <= before.Number {
			continue
		}
		for j := range before.posts {
			q := &before.posts[j]
			now, ok := s.PostOf(string(q.Path))
			found, _ := s.PreOf(string(q.Path))
			met := ok && q.State.Kind == journal.File && journal.Same(&found.State, &q.State)
			if met && journal.Like(&now.State, &q.State) && now.State.Ctime > q.State.Ctime {
				q.State.ID, q.State.Links, q.State.Ctime = now.State.ID, now.State.Links, now.State.Ctime
			}
		}
	}
}

// hide takes steps that are discarded from the list. What an undo among them gave
// back still is as that left it, and the steps before have to know.
func (l *Log) hide(gone func(*Step) bool) {
	if slices.ContainsFunc(l.Steps, gone) {
		inForce := func(s *Step) bool { return s.Begin.Kind == journal.StepUndo && s.UndoneBy == 0 && !s.Open() }
		for _, f := range l.Families() {
			if gone(f.Steps[0]) && slices.ContainsFunc(f.Steps, inForce) {
				l.Hidden = append(l.Hidden, f.Steps...)
			}
		}
	}
	last := make(map[string]*Step)
	for _, s := range l.Steps {
		last[s.Segment] = s
	}
	for _, s := range l.Steps {
		if last[s.Segment] != s { // the next one was begun, so there is no rest, whether that is listed or not
			s.Begin.Rest = nil
		}
	}
	l.Steps = slices.DeleteFunc(slices.Clone(l.Steps), gone)
	if l.Known = l.Steps; len(l.Hidden) > 0 {
		l.Known = slices.Concat(l.Steps, l.Hidden)
		slices.SortFunc(l.Known, func(a, b *Step) int { return cmp.Compare(a.Number, b.Number) })
	}
}

// Step gives the step of a number, nil for none.
func (l *Log) Step(number uint64) *Step {
	i, ok := slices.BinarySearchFunc(l.Steps, number, func(s *Step, n uint64) int { return cmp.Compare(s.Number, n) })
	if !ok {
		return nil
	}
	return l.Steps[i]
}

// present makes a record name file systems by the numbers that they have now: the
// next start of the machine, or the next mount, may give those of the roots others.
func (s *Step) present(r *journal.Record, renumbered Renumber) {
	if r.Begin != nil {
		s.renumbered = renumbered(r.Begin)
	}
	if s.renumbered == nil {
		return
	}
	for _, id := range r.IDs() {
		if now, ok := s.renumbered[id.Dev]; ok {
			id.Dev = now
		}
	}
}

// TakesLater says whether what an action of the plan is about is taken by a later
// one: then it may be gone already.
func (s *Step) TakesLater(i int) bool {
	a := &s.Plan[i]
	return (a.Verb == journal.Rewrite || a.Verb == journal.SetMeta) && slices.ContainsFunc(s.Plan[i+1:], func(b journal.Action) bool {
		return b.Verb == journal.Take && string(b.Path) == string(a.Path)
	})
}

// Later gives what reads a step with read when it is asked for.
func (l *Log) Later(st *Step, read func() error) func() error {
	return func() error {
		err := read()
		if err != nil {
			err = fmt.Errorf("the journal %s of step %d cannot be read: %w", st.Segment, st.Number, err)
			l.unreadable = errors.Join(l.unreadable, err)
		}
		l.movedBack(st)
		return err
	}
}

// Reread reads what a step changed from its part of a journal, which has so many bytes.
func (s *Step) Reread(f io.ReaderAt, size int64, renumbered Renumber) error {
	if size < s.to {
		return errors.New("it is not what it was")
	}
	s.pre, s.post = make(map[string]int), make(map[string]int)
	begin, end := s.Begin, s.End // some of which is what others made of it
	defer func() { s.Begin, s.End = begin, end }()
	j := journal.NewReader(io.NewSectionReader(f, s.from, s.to-s.from), s.to-s.from)
	for {
		r, skipped, err := j.Next()
		if err == nil && skipped {
			err = fmt.Errorf("there is something else before byte %d", s.from+j.Offset())
		}
		if err == nil && r != nil {
			err = r.Valid()
		} else if err == nil && s.from+j.Offset() < s.to {
			err = fmt.Errorf("nothing can be read at byte %d", s.from+j.Offset())
		}
		if r == nil || err != nil {
			return err
		}
		if r.Step == s.Number && r.Do == nil && r.Ready == 0 { // the plan of an undo that is over is of no use any more
			s.present(r, renumbered)
			s.add(r)
		}
	}
}
