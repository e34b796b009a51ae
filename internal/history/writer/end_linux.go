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

// End closes the step: what it left is looked at and written down. See Sync. No
// change may be on its way. What still has somebody who can write to it without
// asking is kept for the next step, which begins at once then. The number is that
// of the step that is open afterwards, 0 for none: after an error the same as
// before, and what is never closed here is closed by [CloseStep].
func (w *Writer) End(exit int, next *journal.Begin) (uint64, error) {
	return w.EndWith(exit, next, w.StillWritten())
}

// EndWith is End where the next step keeps only some of what is still written:
// the others are kept by another writer, see Keep.
func (w *Writer) EndWith(exit int, next *journal.Begin, written []Written) (uint64, error) {
	before := w.step
	if next != nil && len(written) > 0 {
		w.left = make(map[string]journal.Post, len(written))
		for _, f := range written {
			w.left[f.Path] = journal.Post{}
		}
	}
	if open, err := w.end(exit); err != nil || next == nil || len(written) == 0 {
		return open, err
	}
	number, err := w.Begin(*next)
	if err != nil {
		return 0, err
	}
	return number, w.keepWritten(written, before)
}

func (w *Writer) end(exit int) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.step == 0 {
		return 0, nil
	}
	w.seen = time.Time{}
	err := w.strays()
	if err == nil {
		err = w.post()
	}
	if err == nil {
		err = w.beyond()
	}
	if err == nil {
		err = w.write(&journal.Record{End: &journal.End{Time: time.Now().UnixNano(), Exit: exit}})
	}
	if err != nil {
		w.unused = nil // some of it may be in use: the history's gc finds the rest
		return w.step, err
	}
	w.step, w.tree, w.groups, w.inodes = 0, nil, nil, nil
	w.leaveDir()
	w.grants.forget()
	return 0, nil
}

// slack is how long after its last record a killed writer's changes are still
// taken for its own.
const slack = time.Second

// post writes down what the step left.
func (w *Writer) post() error {
	var err error
	in := disk.DirWalk{Roots: w.roots, Open: func(path string) (int, string, error) { return disk.ParentIn(w.roots, path) }}
	defer in.Close()
	w.tree.each(func(s *slot) {
		if err != nil || !(s.used && s.dir != nil || s.is != nil && s.is.meta) {
			return
		}
		if w.later == nil && !s.changed() && !stirred(s, &in) {
			err = w.withdraw(s)
		} else {
			err = w.postOf(s, &in)
		}
	})
	return err
}

func (w *Writer) postOf(s *slot, in *disk.DirWalk) error {
	at := s.path()
	if at == "" {
		return nil
	}
	if w.later != nil {
		return w.postLater(s, at)
	}
	st, err := lookThrough(in, at)
	if errors.Is(err, unix.EXDEV) {
		return nil // it was not kept either
	}
	if err != nil {
		return err
	}
	st = w.byTheStep(s, st)
	if o := s.is; st.Unread && o != nil && o.hidden != nil && o.hidden.ID == st.ID {
		st.Xattrs, st.Unread = o.hidden.Xattrs, false
	}
	return w.writePost(s, w.leftAt(s, at, st))
}

// postLater is postOf for a step whose writer was killed. Steps may have been made
// since; then it left what they found.
func (w *Writer) postLater(s *slot, at string) error {
	if _, ok := w.later.PostOf(at); ok {
		return w.postAgain(s, at) // seen when the step ended
	}
	st, now, found := w.others.LeftBy(w.later, at)
	if !found {
		var err error
		if st, err = disk.LookIn(w.roots, now); err != nil {
			return err
		}
	}
	if void, err := w.voidLater(s, &st); void || err != nil {
		return err
	}
	return w.writePost(s, &journal.Post{Path: journal.Bytes(at), State: st, Uncertain: st.Kind != journal.Absent && st.Ctime > w.last+int64(slack) && !w.ours[st.ID]})
}

// postAgain corrects what was seen when a step was about to end, if a loss of power
// has put back what the step had found.
func (w *Writer) postAgain(s *slot, at string) error {
	was, ok := w.later.PreOf(at)
	left, _ := w.later.PostOf(at)
	if !ok {
		was = journal.Pre{}
	}
	now, err := disk.LookIn(w.roots, at)
	if err != nil || journal.AsLeft(&now, &left.State) {
		return err
	}
	if back := journal.Same(&now, &was.State) && !journal.Same(&now, &left.State); !back && !journal.AsLeft(&now, &was.State) {
		return nil
	}
	return w.writePost(s, &journal.Post{Path: journal.Bytes(at), State: now})
}

func (w *Writer) writePost(s *slot, p *journal.Post) error {
	st := p.State
	if s.is != nil && s.is.opened && st.Kind == journal.File {
		w.granted.add(st.ID)
	}
	if s.is != nil && s.is.origin != "" && st.Kind != journal.Absent && (s.is.id == journal.ID{} || s.is.id == st.ID) {
		p.Origin = journal.Bytes(s.is.origin)
	}
	p.Timed = s.is != nil && s.is.timed && st.Kind == journal.Dir
	if _, ok := w.left[string(p.Path)]; ok {
		w.left[string(p.Path)] = *p
	}
	return w.write(&journal.Record{Post: p})
}

// Close ends the segment. A step that is still open stays so: the next command
// finds it interrupted.
func (w *Writer) Close() error {
	defer w.Abandon()
	if w.step != 0 || w.unfinished {
		w.file = nil
		return w.log.Close()
	}
	if w.unsynced { // else nothing would say that it is to be read again after a loss of power
		if err := w.Sync(); err != nil {
			w.file = nil
			return errors.Join(err, w.log.Close())
		}
	}
	w.store.MarkClosed(w.segment)
	err := w.seal()
	if err == nil {
		w.store.IndexSegment(w.segment)
	}
	return err
}

// seal closes the journal for good.
func (w *Writer) seal() error {
	file := w.file
	w.file = nil
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return errors.Join(err, w.log.Close())
	}
	defer unix.Close(fd)
	err = w.log.Close()
	if err == nil {
		store.Seal(fd)
	}
	return err
}

// lookThrough is look when no change is on its way.
func lookThrough(in *disk.DirWalk, at string) (st journal.State, err error) {
	dir, name, err := in.Parent(at)
	if disk.Missing(err) {
		return journal.State{}, nil
	}
	if err == nil {
		st, err = disk.LookAt(dir, name)
	}
	if err != nil {
		return st, fmt.Errorf("looking at %q: %w", at, err)
	}
	return st, nil
}
