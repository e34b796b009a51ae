package writer

import (
	"errors"
	"fmt"
	"time"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/history/store"

	"golang.org/x/sys/unix"
)

// Writer writes one segment. Before and After are called concurrently, for a
// rename, an exchange or a link with no other change on the way.
type Writer struct {
	strangers
	mounted    map[string]bool         // paths of which it is written down that they lie on a mounted file system
	unfinished bool                    // the next command has to go on
	left       map[string]journal.Post // by the step that ended, of files that a process still writes to
}

// New begins a segment. roots are the places whose changes are told,
// canonical; run names the run.
func New(s *store.Store, run string, roots []string) (*Writer, error) {
	if err := s.Share(); err != nil {
		return nil, fmt.Errorf("writing history: %w", err)
	}
	w := new(Writer)
	w.store, w.objects, w.ignored = s, -1, s.Ignored()
	g, err := s.NewSegment(run)
	if err == nil {
		w.segment, w.file, w.objects = g.Name, g.Journal, g.Objects
		w.log = disk.NewAppendLog(w.file)
		err = w.open(roots)
	}
	if err != nil {
		w.Abandon()
		return nil, fmt.Errorf("writing history: %w", err)
	}
	return w, nil
}

// Abandon lets go of everything that a writer holds, as one that is killed does.
func (w *Writer) Abandon() {
	w.grants.stop()
	w.leaveDir()
	for _, r := range w.roots {
		unix.Close(r.FD)
	}
	for _, fd := range w.loose {
		unix.Close(fd)
	}
	if w.objects >= 0 {
		unix.Close(w.objects)
	}
	if w.file != nil {
		w.log.Unmap() // the lock lasts as long as that
		w.file.Close()
	}
	w.store.Unlock()
}

// Begin opens a step and gives its number.
func (w *Writer) Begin(b journal.Begin) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.step != 0 {
		return 0, errors.New("a step is open already")
	}
	var roots []string
	for _, r := range w.roots {
		roots = append(roots, r.Path)
		b.Roots, b.Devices = append(b.Roots, journal.Bytes(r.Path)), append(b.Devices, r.ID.Dev)
	}
	b.Time = time.Now().UnixNano()
	number, err := w.store.NextNumber()
	if err != nil {
		return 0, err
	}
	w.raced, w.began = false, b.Time
	w.mounted = make(map[string]bool)
	w.tree, w.groups, w.inodes, w.tally = newTree(roots), make(map[journal.ID]*group), make(map[journal.ID]*object), Tally{}
	w.step = number
	if err := w.write(&journal.Record{Begin: &b}); err != nil {
		w.step, w.tree, w.groups, w.inodes = 0, nil, nil, nil // what follows a beginning that is not there is not found either
		return 0, err
	}
	return number, nil
}

// unbusy lets the others go on who want to keep an object.
func (w *preimages) unbusy(o *object) {
	o.linked.letGo()
	o.linked = nil
	if o.busy != nil {
		close(o.busy)
		o.busy = nil
	}
}

// After is told what became of a change.
func (w *Writer) After(c *Change, failed error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.putOver()
	if failed != nil {
		c.fail()
	}
	if w.step == 0 {
		return
	}
	if failed != nil {
		for _, o := range c.vain {
			w.unharmed(o)
		}
	}
	defer w.ends(c, failed, w.named(c))
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
	if c.Copied {
		w.settle(s, failed)
		if failed == nil {
			to.made()
			s.gone()
			w.remember(c, to)
		}
		return
	}
	if failed != nil {
		if c.Op == Rename || c.Op == Exchange {
			w.owe(&journal.Record{Move: &journal.Move{From: journal.Bytes(c.Path), To: journal.Bytes(c.To), Exchange: c.Op == Exchange, Failed: true}})
		}
		return
	}
	if c.To != "" && s == to {
		c.fail()
		return
	}
	switch c.Op {
	case Content:
		if is := s.adopt(); is != nil {
			is.written = true
			if g := is.group; g != nil {
				g.written = true
			}
		}
		if !c.Opens {
			w.refresh(c, s)
		}
	case Meta:
		if s.is != nil && c.Times {
			s.is.timed = true
			w.refresh(c, s)
		}
	case Make, Link:
		if c.Op == Link {
			s.adopt()
		}
		to.made()
		to.is.opened = true // a link may be of what somebody has open
		if c.Op == Link && s.is != nil {
			s.is.opened = true // and the link may be what is opened
			to.is.group = s.is.group
		}
		w.remember(c, to)
	case Remove:
		if c.is != nil && s.is != c.is {
			return // another thread has made something there since, and was told of first
		}
		if s.is != nil && len(s.is.names) > 0 { // what is gone must not take room on the disk
			w.leaveDir()
		}
		s.gone()
	case Rename, Exchange:
		switch {
		case w.wasSame(c, s, to):
			c.fail()
		case c.Op == Rename:
			foreign := s.foreign
			s.adopt()
			to.moved(s)
			w.arrived(c, foreign, to)
		default:
			s.adopt()
			to.adopt()
			s.exchanged(to)
		}
	}
}

// unharmed takes back that the content of something is lost, as the change that was going to
// destroy it has failed: the next one keeps it, or has to ask.
func (w *preimages) unharmed(o *object) {
	of := []*object{o}
	if g := o.group; g != nil && g.kept != nil && g.kept.Lost != "" {
		g.kept = nil
		of = append(of, g.members...)
	}
	for _, o := range of {
		if o.mayLose = false; o.copy == nil || o.copy.Lost == "" || o.origin == "" {
			continue
		}
		p := *o.copy
		if p.Lost = ""; w.write(&journal.Record{Pre: &p}) == nil {
			o.content, o.grouped, o.copy = false, false, nil
		}
	}
}

// name keeps what is at a name, before the name gets another meaning. leaving
// says that what is there loses it.
func (w *preimages) name(s *slot, leaving bool) error {
	if err := w.parentMeta(s); err != nil {
		return err
	}
	if s.kept {
		if leaving && s.is != nil && s.is.origin != "" {
			return w.content(s, true) // it was brought here
		}
		if s.used {
			return nil
		}
		err := w.write(&journal.Record{At: journal.Bytes(s.path())}) // in a directory that the step made
		s.used = err == nil
		return err
	}
	st, err := w.look(s)
	if err != nil {
		return err
	}
	is := s.is
	if st.Kind == journal.Absent {
		is = nil
	}
	if err := w.pre(is, s.origin(), s, &st, leaving); err != nil {
		return err
	}
	if is == nil && s.is != nil && s.is.origin == s.origin() {
		s.is = nil
	}
	s.kept, s.used = true, true // not before it is true: what could not be kept is kept the next time
	return nil
}

// parentMeta keeps the state of the directory whose names are about to change.
func (w *preimages) parentMeta(s *slot) error {
	if s.dir == nil || s.dir.meta || s.dir.origin == "" || s.dir.at == nil {
		return nil
	}
	st, err := w.look(s.dir.at)
	if errors.Is(err, unix.EACCES) && s.via != nil && s.via.dir > 0 {
		st, err = disk.StateAt(s.via.dir, "", disk.WithXattrs)
	}
	if err != nil || st.Kind != journal.Dir {
		return err
	}
	return w.pre(s.dir, s.dir.origin, s.dir.at, &st, false)
}

// meta keeps the state of what is at a name.
func (w *preimages) meta(s *slot) error {
	if s.is == nil || s.is.origin == "" || s.is.meta {
		return nil
	}
	st, err := w.look(s)
	if err != nil || st.Kind == journal.Absent {
		return err
	}
	return w.pre(s.is, s.is.origin, s, &st, false)
}

// hides notes the attributes of what cannot be asked for them afterwards.
func (w *preimages) hides(s *slot) {
	if s.is == nil {
		return
	}
	if st, err := w.look(s); err == nil && !st.Unread {
		s.is.hidden = &st
	}
}

// content keeps the content of what is at a name.
func (w *preimages) content(s *slot, leaving bool) error {
	o := s.is
	if o == nil {
		return nil
	}
	o.opened = o.opened || !leaving
	if o.content && len(w.groups) == 0 {
		return nil
	}
	st, err := w.look(s)
	if err != nil || st.Kind == journal.Absent {
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
func (w *preimages) link(s, to *slot) error {
	if s.is != nil && s.is.origin != "" {
		st, err := w.look(s)
		if err != nil {
			return err
		}
		if st.Kind != journal.Dir && st.Kind != journal.Absent { // not where it never had a name
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
func (w *preimages) pre(o *object, origin string, s *slot, st *journal.State, leaving bool) error {
	if o != nil {
		g := w.group(o, st)
		if leaving && g != nil {
			return w.shared(g, s, st, true)
		}
		if leaving && st.Kind == journal.File && !o.content {
			_, err := w.keepContent(o, s, st, leaving)
			return err
		}
		if o.meta {
			return nil
		}
	}
	found := w.asFound(o, st)
	err := w.write(&journal.Record{Pre: &journal.Pre{Path: journal.Bytes(origin), State: *found}, At: journal.Bytes(s.path())})
	if o != nil && err == nil {
		o.meta, o.found = true, found
		w.knows(o, st.ID)
	}
	return err
}

// Tally says what the open step has done.
func (w *Writer) Tally() Tally {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tally
}

// Held is about how many bytes of memory the open step takes.
func (w *Writer) Held() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tree == nil {
		return 0
	}
	return w.tree.held
}
