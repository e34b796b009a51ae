package writer

import (
	"os"
	"time"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/history/store"

	"golang.org/x/sys/unix"
)

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
	w.killed = s.BegunThisBoot(st.Segment)
	w.replay(st)
	if err := w.stayed(st); err != nil {
		return err
	}
	if len(l.Damaged) == 0 {
		w.sweep(l) // before the end: whoever is killed in it comes here again
	}
	if err := w.strays(); err != nil {
		return err
	}
	if err := w.post(); err != nil {
		return err
	}
	if err := w.beyond(); err != nil {
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
	w := &Writer{
		store: s, segment: g.Name, file: g.Journal, objects: g.Objects, later: st, others: l,
		groups: make(map[journal.ID]*group), ours: make(map[journal.ID]bool),
	}
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
	if time.Now().UnixNano() > st.Alive { // else the clock was set back: anything may have been changed since
		w.last = st.Alive
	}
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

// byOrigin gives where what the step found is now.
func (w *Writer) byOrigin() map[string]*slot {
	now := make(map[string]*slot)
	w.tree.each(func(s *slot) {
		if s.is != nil && s.is.origin != "" {
			now[s.is.origin] = s
		}
	})
	return now
}

// stayed finds what was linked since it was about to go, and is still there: the
// link is no copy, and would be a second name of it.
func (w *Writer) stayed(st *steplog.Step) error {
	now := w.byOrigin()
	for i := range st.Pres() {
		p := &st.Pres()[i]
		s := now[string(p.Path)]
		if s == nil || p.Object.Segment != w.segment {
			continue
		}
		number := journal.ObjectName(p.Object.Number)
		kept, err := disk.StateAt(w.objects, number, 0)
		if err != nil {
			return err
		}
		there, err := w.look(s)
		if err != nil {
			return err
		}
		lost := journal.Same(&there, &p.State) && !journal.Like(&kept, &journal.State{Kind: journal.File, Size: p.State.Size, Mtime: kept.Mtime}) // with the power: it did not reach the disk
		if !lost && (kept.Kind != journal.File || kept.ID != there.ID) {
			continue
		}
		if err := w.write(&journal.Record{Pre: &journal.Pre{Path: p.Path, Stayed: true}}); err != nil {
			return err
		}
		if lost {
			continue
		}
		if err := disk.UnlinkAt(w.objects, number, 0); err != nil {
			return err
		}
		if there.Ctime <= w.last+int64(slack) {
			w.ours[there.ID] = true
		}
	}
	return nil
}

// sweep removes objects of which no journal knows: the record was not written
// any more, so the change was not made.
func (w *Writer) sweep(l *store.Log) {
	known, killed := l.Referenced(w.segment), w.store.BegunThisBoot(w.segment)
	present, err := w.numbers()
	if err != nil {
		return
	}
	for _, n := range present {
		if known[n] {
			continue
		}
		if is, err := disk.StateAt(w.objects, journal.ObjectName(n), 0); err == nil && is.Kind != journal.Dir && is.Links > 1 {
			if w.touch(l, is.ID) != nil {
				return // it waits for somebody who can write that down
			}
			w.ours[is.ID] = w.ours[is.ID] || is.Ctime <= w.last+int64(slack)
		} else if !killed {
			continue // it may be all that is left of something whose record was lost with the power
		}
		_ = disk.UnlinkAt(w.objects, journal.ObjectName(n), 0)
	}
}

// touch notes a file that gets another time of change, as a link to it goes, where
// a step says what that was.
func (w *Writer) touch(l *store.Log, id journal.ID) error {
	for _, st := range l.Steps {
		for _, q := range st.Posts() {
			if q.State.ID != id {
				continue
			}
			s := w.tree.find(string(q.Path))
			if s == nil || s.is == nil || s.is.origin == "" || s.is.meta {
				continue
			}
			now, err := w.look(s)
			if err != nil || now.ID != id {
				continue
			}
			if err := w.pre(s.is, s.is.origin, s, &now, false); err != nil {
				return err
			}
			s.used = true
		}
	}
	return nil
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
		if n, ok := journal.ObjectNumber(name); ok {
			out = append(out, n)
		}
	}
	return out, err
}
