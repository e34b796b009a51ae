package writer

import (
	"fmt"
	"slices"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// preimages keeps what a change is about to destroy, before it is made.
type preimages struct {
	grants
	granted *Granted                     // nil: no program opens unseen what a step before opened for writing
	copying map[journal.ID]chan struct{} // files with several names, see copyOf
	loose   map[journal.ID]int           // pinned: see pinLoose
	tally   Tally
}

// wait lets another change finish that keeps the same object.
func (w *preimages) wait(o *object) {
	for o.busy != nil {
		busy := o.busy
		w.pauses++
		w.mu.Unlock()
		<-busy
		w.mu.Lock()
	}
}

// copyOf says that a file with several names is being copied, until what it
// returns is called: no name of it may get another meaning meanwhile.
func (w *preimages) copyOf(st *journal.State) func() {
	if st.Links < 2 {
		return func() {}
	}
	id, over := st.ID, make(chan struct{})
	if w.copying == nil {
		w.copying = make(map[journal.ID]chan struct{})
	}
	w.copying[id] = over
	return func() {
		delete(w.copying, id)
		close(over)
	}
}

// waitForCopy lets a copy of what is at a slot finish, and says whether there was
// one.
func (w *preimages) waitForCopy(s *slot) bool {
	if len(w.copying) == 0 || s == nil {
		return false
	}
	st, err := w.glance(s)
	over := w.copying[st.ID]
	if err != nil || over == nil {
		return false
	}
	w.pauses++
	w.mu.Unlock()
	<-over
	w.mu.Lock()
	return true
}

// keepContent stores a file's content, without holding up changes of others.
func (w *preimages) keepContent(o *object, s *slot, st *journal.State, leaving bool) (*journal.Pre, error) {
	p := &journal.Pre{Path: journal.Bytes(o.origin), State: *st}
	at := s.path()
	if st.Kind == journal.File && (st.Size > 0 || st.Links > 1) && !w.unwanted(o, st) {
		number, err := w.storeNew(o, s, at, st, leaving && !w.granted.has(st.ID))
		p.State = *w.asFound(o, st)
		p.State.Size = st.Size // of what is kept
		o.number = number
		switch {
		case err == nil:
			p.Object = journal.Object{Segment: w.segment, Number: number}
			p.State.Sum = indexSum(w.objects, number, at)
		case lost(err) != "" && !o.mayLose:
			return nil, &LostError{Path: at, Why: lost(err), object: o}
		case lost(err) != "":
			p.Lost = lost(err)
		default:
			return nil, fmt.Errorf("keeping %q: %w", at, err)
		}
	}
	if err := w.write(&journal.Record{Pre: p, At: journal.Bytes(at)}); err != nil {
		if p.Object != (journal.Object{}) {
			_ = disk.UnlinkAt(w.objects, journal.ObjectName(o.number), 0)
		}
		w.unbusy(o)
		return nil, err
	}
	o.meta, o.content, o.copy, o.found = true, true, p, &p.State
	w.knows(o, st.ID)
	return p, nil
}

// storeNew stores what is at a slot as a new object, while others go on.
func (w *preimages) storeNew(o *object, s *slot, at string, st *journal.State, leaving bool) (number uint64, err error) {
	w.next++
	number = w.next
	busy := make(chan struct{})
	o.busy = busy
	done := w.copyOf(st)
	copied := w.newRoom()
	by, err := w.storeApart(s, at, st, number, leaving, copied)
	done()
	if o.linked = by; by == nil { // else until After
		o.busy = nil
		close(busy)
	}
	if err != nil {
		copied.giveBack()
		return number, err
	}
	w.store.AddEstimate(st.Size)
	w.fresh = append(w.fresh, number)
	return number, nil
}

// storeApart stores what is at a path while others go on.
func (w *preimages) storeApart(s *slot, path string, st *journal.State, number uint64, leaving bool, copied *room) (by *hardLink, err error) {
	at, err := w.reach(s, path)
	w.pauses++
	w.mu.Unlock()
	defer w.mu.Lock()
	if err != nil {
		return nil, err
	}
	defer at.close()
	return w.storeObject(at.dir, at.name, st, number, leaving, copied)
}

// group gives the group of an object, nil for what has one name. A link or a FIFO with
// several names is one object as well, and comes back as one.
func (w *preimages) group(o *object, st *journal.State) *group {
	if st.Kind == journal.Dir || st.Kind == journal.Absent || st.Links < 2 && w.groups[st.ID] == nil {
		return nil
	}
	return w.joinGroup(o, st)
}

func (w *preimages) joinGroup(o *object, st *journal.State) *group {
	g := w.groups[st.ID]
	if g == nil {
		g = &group{state: *w.asFound(o, st)}
		if o.content && o.copy != nil { // kept when it still had one name
			g.state, g.kept, o.grouped = o.copy.State, o.copy, true
		}
		w.groups[st.ID] = g
	}
	if o.group != g {
		w.joins(o, g)
	}
	if o.origin != "" && !slices.Contains(g.members, o) {
		g.members = append(g.members, o)
	}
	return g
}

// shared keeps the content of a group. A name that goes is linked, as long as
// nobody has changed the file by another; whoever changes it has it copied, for
// all names.
func (w *preimages) shared(g *group, s *slot, st *journal.State, leaving bool) error {
	for _, m := range g.members { // whoever copies it does so for all names
		w.wait(m)
	}
	o := s.is
	switch {
	case o == nil:
		return nil // gone meanwhile
	case len(g.members) == 0:
		return nil // made by the step, with all its names
	case leaving && (o.origin == "" || o.held > 0 || o.copy != nil && o.copy.Lost == journal.Ignored):
		return nil
	case leaving && g.kept != nil:
		if err := w.noteGroup(g); err != nil {
			return err
		}
		return w.hold(g, s, st)
	case leaving:
		return w.hold(g, s, st)
	case g.kept != nil:
		return w.noteGroup(g)
	}
	m := g.members[0]
	if o.origin != "" {
		m = o
	}
	m.content = false
	kept, err := w.keepContent(m, s, st, false)
	if err != nil {
		return err
	}
	g.kept = kept
	m.grouped = true
	return w.noteGroup(g)
}

// hold links a file that is about to lose a name and has others: the file comes
// back, and not only what was in it.
func (w *preimages) hold(g *group, s *slot, st *journal.State) error {
	o := s.is
	at, err := w.reach(s, s.path())
	if err != nil {
		return err
	}
	defer at.close()
	number, linked, err := g.link(w, at, st)
	if err != nil {
		if lost(err) == "" {
			return disk.OfStore(err)
		}
		if g.kept != nil { // a copy has to do
			return nil
		}
		if g.kept, err = w.keepContent(o, s, st, false); err != nil {
			return err
		}
		o.grouped = true
		return w.noteGroup(g)
	}
	found := w.asFound(o, st)
	err = w.write(&journal.Record{Pre: &journal.Pre{Path: journal.Bytes(o.origin), State: *found, Inode: journal.Object{Segment: w.segment, Number: number}}, At: journal.Bytes(s.path())})
	if err != nil {
		if linked {
			_ = disk.UnlinkAt(w.objects, journal.ObjectName(number), 0)
		}
		return err
	}
	if linked {
		w.fresh = append(w.fresh, number)
		w.store.AddEstimate(st.Size)
	}
	o.meta, o.held, o.found = true, number, found
	g.holder = o
	w.knows(o, st.ID)
	return nil
}

// link gives the number of a link in the store to what is at a name, and whether it was
// made now.
func (g *group) link(w *preimages, at location, st *journal.State) (number uint64, linked bool, err error) {
	if number = g.held(); number > 0 {
		now, err := disk.StateAt(at.dir, at.name, 0)
		if err == nil && now.ID != st.ID {
			err = unix.ESTALE
		}
		return number, false, err
	}
	w.next++
	w.pauses++ // it has another name then
	return w.next, true, linkTo(at.dir, at.name, st, w.objects, journal.ObjectName(w.next))
}

// held gives the link by which the store has a file, 0 where it has none. One is enough for
// all names that go: a file system bounds how many a file has, and the names have to fit
// beside it when they come back.
func (g *group) held() uint64 {
	if g.holder == nil || g.holder.group != g {
		return 0
	}
	return g.holder.held
}

// noteGroup writes down for every name what was kept.
func (w *preimages) noteGroup(g *group) error {
	for _, m := range g.members {
		if m.grouped {
			continue
		}
		p := *g.kept
		p.Path = journal.Bytes(m.origin)
		r := &journal.Record{Pre: &p}
		if m.at != nil {
			r.At = journal.Bytes(m.at.path())
		}
		if err := w.write(r); err != nil {
			return err
		}
		m.grouped, m.meta, m.content, m.found = true, true, true, &p.State
		w.knows(m, g.state.ID)
	}
	return nil
}
