package writer

import (
	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
)

// strays writes down one more name of each wanted file that the step may have written to by
// names that are all gone, where the file itself could not be kept: its content is, and
// comes back only where somebody knows a name of it. Every directory of the roots is
// read for that.
func (w *closing) strays(wanted map[journal.ID]*journal.Pre) error {
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
func (w *closing) strayed() map[journal.ID]*journal.Pre {
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
