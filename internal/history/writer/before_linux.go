package writer

import (
	"errors"

	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// Before keeps what a change is about to destroy. An error says that the change
// must not be made.
func (w *Writer) Before(c *Change) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		err := w.before(c)
		if err == errAgain {
			continue
		}
		var l *LostError
		if !errors.As(err, &l) || l.object == nil {
			return err
		}
		possible := w.possible(c, l.Path)
		if !possible {
			c.vain = append(c.vain, l.object)
		}
		if c.Lose != nil && possible {
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

// before keeps what it can. What lies on a file system that is mounted in a root
// is not kept.
func (w *Writer) before(c *Change) error {
	if w.step == 0 {
		return errors.New("no step is open")
	}
	s, to := w.slots(c)
	if s == nil {
		return nil
	}
	err := w.followAbove(s, c.Dir, c.In)
	if err == nil && to != nil {
		err = w.followAbove(to, c.ToDir, c.ToIn)
	}
	if err != nil {
		return err
	}
	err = w.keepFor(c, s, to)
	if errors.Is(err, unix.EXDEV) {
		err = w.notKept(c)
	}
	if err == nil {
		c.is = s.is
		c.begin(s, to)
		c.puts(s, to)
		w.begins(c)
	}
	return err
}

// notKept writes down that what a change does is not kept, once for each path.
func (w *Writer) notKept(c *Change) error {
	at := c.Path
	if c.Op == Rename {
		at = c.To
	}
	s := w.tree.find(at)
	if s == nil {
		return nil
	}
	if s.is != nil && !s.is.mayLose && (c.Op == Content || c.Op == Remove || c.Op == Rename || c.Op == Exchange) {
		return &LostError{Path: at, Why: journal.Mounted, object: s.is}
	}
	for _, path := range []string{c.Path, c.To} {
		named := w.tree.find(path)
		if named == nil || w.mounted[path] {
			continue
		}
		if _, err := w.glance(named); !errors.Is(err, unix.EXDEV) {
			continue
		}
		if err := w.write(&journal.Record{Pre: &journal.Pre{Path: journal.Bytes(path), Lost: journal.Mounted}}); err != nil {
			return err
		}
		w.mounted[path] = true
	}
	return nil
}

func (w *Writer) keepFor(c *Change, s, to *slot) error {
	s.via = &via{dir: c.Dir, name: c.Name, in: c.In, pinned: c.Pinned}
	defer func() { s.via = nil }()
	if to != nil {
		to.via = &via{dir: c.ToDir, name: c.ToName, in: c.ToIn}
		defer func() { to.via = nil }()
	}
	if err := w.stale(c, s); err != nil {
		return err
	}
	if err := w.keepBetween(c, s, to); err != nil {
		return err
	}
	switch c.Op {
	case Content:
		w.count(c, s)
		return w.content(s, false)
	case Meta:
		if s.is != nil {
			s.is.touched = true
			if g := s.is.group; g != nil {
				g.touched = true
			}
		}
		if c.Hides {
			w.hides(s)
		}
		return w.meta(s)
	case Make:
		return w.name(s, false)
	case Remove:
		w.count(c, s)
		return w.leaves(s)
	case Link:
		return w.link(s, to)
	}
	if to == nil {
		return nil
	}
	nothing, err := w.sameFile(s, to)
	if nothing || err != nil {
		return err
	}
	return w.move(c, s, to)
}

// move keeps what a rename or an exchange of two objects is about to destroy.
func (w *Writer) move(c *Change, s, to *slot) error {
	if c.Copied {
		return w.copied(s, to)
	}
	if err := w.tree.fit(c, s, to); err != nil {
		return err
	}
	if err := w.name(s, false); err != nil {
		return err
	}
	var err error
	if c.Op == Rename && !c.New {
		w.count(c, to)
		err = w.leaves(to)
	} else {
		err = w.name(to, false) // it stays, here or under the other name
	}
	if err != nil {
		return err
	}
	st, err := w.glance(s)
	if err == nil {
		err = w.write(&journal.Record{Move: &journal.Move{From: journal.Bytes(c.Path), To: journal.Bytes(c.To), Exchange: c.Op == Exchange, ID: st.ID}})
	}
	if err != nil {
		w.settle(to, err)
	}
	return err
}
