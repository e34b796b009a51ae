package writer

import (
	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
)

// strays writes down one more name of each file that the step may have written to by
// names that are all gone, where the file itself could not be kept: its content is, and
// comes back only where somebody knows a name of it. Every directory of the roots is
// read for that.
func (w *Writer) strays() error {
	wanted := w.strayed()
	if w.later != nil {
		wanted = w.strayedFrom(w.later)
	}
	return disk.NamesOf(w.roots, wanted, func(path string, id journal.ID) (bool, error) {
		s := w.tree.find(path)
		if s == nil || s.is == nil || s.is.origin == "" {
			return false, nil
		}
		p := *wanted[id]
		p.Path = journal.Bytes(s.is.origin)
		if err := w.write(&journal.Record{Pre: &p, At: journal.Bytes(path)}); err != nil {
			return false, err
		}
		o := s.is
		o.meta, o.content, o.grouped, o.found = true, true, true, &p.State
		w.knows(o, id)
		o.changes++
		return true, nil
	})
}

// strayed gives what was kept of such files.
func (w *Writer) strayed() map[journal.ID]*journal.Pre {
	out := make(map[journal.ID]*journal.Pre)
	for id, g := range w.groups {
		if g.kept == nil || g.kept.Object == (journal.Object{}) {
			continue
		}
		opened, known := false, false
		for _, m := range g.members {
			opened = opened || m.opened
			known = known || m.held > 0 || m.at != nil && m.at.path() != ""
		}
		if opened && !known {
			out[id] = g.kept
		}
	}
	return out
}

// strayedFrom is strayed for a step whose writer was killed, which may name some that
// nobody has opened.
func (w *Writer) strayedFrom(st *steplog.Step) map[journal.ID]*journal.Pre {
	out, known := make(map[journal.ID]*journal.Pre), make(map[journal.ID]bool)
	now := w.byOrigin()
	there := func(p *journal.Pre) bool {
		s := now[string(p.Path)]
		if s == nil {
			return false
		}
		st, err := w.look(s)
		return err == nil && st.ID == p.State.ID
	}
	for i := range st.Pres() {
		p := &st.Pres()[i]
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
