package writer

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/history/store"

	"golang.org/x/sys/unix"
)

// Writer writes one segment. Before and After are called concurrently, for a
// rename, an exchange or a link with no other change on the way.
type Writer struct {
	store   *store.Store
	segment string
	log     *disk.AppendLog
	file    *os.File
	objects int
	roots   []disk.Root
	ignored func(path string) bool // nil: nothing is

	mu         sync.Mutex
	tree       *tree
	step       uint64
	next       uint64 // number of the next object
	groups     map[journal.ID]*group
	inodes     map[journal.ID]*object // what the open step knows, without the time of birth, see known
	layered    bool                   // a root is on an overlay
	raced      bool                   // calls of the open step raced for a name, see arrived
	began      int64                  // when the open step did, in nanoseconds since 1970
	frame      []byte
	later      *steplog.Step       // it is closed by another process, after its writer was killed: what is known of it
	anchored   map[uint64]int      // of a step of a killed writer: how many paths refer to a link in the store
	others     *store.Log          // all steps that are known then
	last       int64               // when that wrote its last record, in nanoseconds since 1970
	ours       map[journal.ID]bool // their time of change is that of closing the step
	owed       []*journal.Record   // what could not be written down of a change that was not made
	kept       int                 // objects of this step
	summed     int                 // files of this step of which the content was looked at
	fresh      []uint64            // objects that are not on the disk yet
	tally      Tally
	lost       bool      // something of the segment could not be kept
	seen       time.Time // when the segment was seen to be where it can be found
	spent      spending
	loose      map[journal.ID]int           // pinned: see pinLoose
	copying    map[journal.ID]chan struct{} // files with several names, see copyOf
	killed     bool                         // later, and no power was lost since
	unused     []uint64                     // objects of records that are withdrawn
	unfinished bool                         // the next command has to go on
	granted    *Granted                     // nil: no program opens unseen what a step before opened for writing
	left       map[string]journal.Post      // by the step that ended, of files that a process still writes to
	grants     grants                       // files that the step writes to

	pauses uint64          // how often a change let others go on
	nearby map[nearby]bool // mounts that are a root's own, see near

	mounted map[string]bool // paths of which it is written down that they lie on a mounted file system

	lastDir *opened // in which something was kept last, see reach

	unsynced bool        // something was written since the last sync
	placed   atomic.Bool // the names that lead to the journal are on the disk
	shelved  atomic.Bool // the name of the directory of its objects is on the disk
	safe     int64       // bytes of the journal that are on the disk, for the next record
}

// New begins a segment. roots are the places whose changes are told,
// canonical; run names the run.
func New(s *store.Store, run string, roots []string) (*Writer, error) {
	if err := s.Share(); err != nil {
		return nil, fmt.Errorf("writing history: %w", err)
	}
	w := &Writer{store: s, objects: -1, ignored: s.Ignored()}
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

// open pins the roots.
func (w *Writer) open(roots []string) error {
	for _, path := range roots {
		r, err := disk.OpenRoot(path)
		if err != nil {
			return fmt.Errorf("opening %q: %w", path, err)
		}
		w.roots = append(w.roots, r)
		var fs unix.Statfs_t
		w.layered = w.layered || unix.Fstatfs(r.FD, &fs) == nil && fs.Type == unix.OVERLAYFS_SUPER_MAGIC
	}
	slices.SortFunc(w.roots, func(a, b disk.Root) int { return len(b.Path) - len(a.Path) })
	return nil
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

// Segment names what is written, for [store.Store.ReadSegment].
func (w *Writer) Segment() string { return w.segment }

// Lost says whether the content of something could not be kept.
func (w *Writer) Lost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
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
	w.tree, w.groups, w.inodes, w.kept, w.summed, w.tally = newTree(roots), make(map[journal.ID]*group), make(map[journal.ID]*object), 0, 0, Tally{}
	w.step = number
	if err := w.write(&journal.Record{Begin: &b}); err != nil {
		w.step, w.tree, w.groups, w.inodes = 0, nil, nil, nil // what follows a beginning that is not there is not found either
		return 0, err
	}
	return number, nil
}

// unbusy lets the others go on who want to keep an object.
func (w *Writer) unbusy(o *object) {
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
func (w *Writer) unharmed(o *object) {
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
func (w *Writer) name(s *slot, leaving bool) error {
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
func (w *Writer) parentMeta(s *slot) error {
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
func (w *Writer) meta(s *slot) error {
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
func (w *Writer) hides(s *slot) {
	if s.is == nil {
		return
	}
	if st, err := w.look(s); err == nil && !st.Unread {
		s.is.hidden = &st
	}
}

// content keeps the content of what is at a name.
func (w *Writer) content(s *slot, leaving bool) error {
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
func (w *Writer) link(s, to *slot) error {
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
func (w *Writer) pre(o *object, origin string, s *slot, st *journal.State, leaving bool) error {
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

// asFound gives the state in which the step found what is as it is now: by this
// name or by another one of the same file.
func (w *Writer) asFound(o *object, now *journal.State) *journal.State {
	found := now
	if o != nil && o.found != nil {
		found = o.found
	} else if g := w.groups[now.ID]; g != nil {
		found = &g.state
	}
	if found == now || found.ID != now.ID {
		return now
	}
	st := *found
	return &st
}
