package writer

import (
	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
)

// replay follows what a step was about to do, so far as names go.
func replay(t *tree, roots []disk.Root, st *steplog.Step) {
	made, lost := movesMade(roots, st), false
	for i := range st.Trail {
		r := st.Trail[i]
		switch {
		case r.Move != nil:
			if made[i] {
				t.replayMove(r.Move)
			} else {
				lost = true
			}
		case r.Pre != nil:
			if _, had := st.PreOf(string(r.Pre.Path)); had { // else it was withdrawn as the step was about to end
				t.replayPre(r)
			}
		default:
			t.replayName(string(r.At))
		}
	}
	if !lost {
		return
	}
	pres := st.Pres()
	for i := range pres { // under the name that it still has
		p := &pres[i]
		if s := t.find(string(p.Path)); s != nil && s.is != nil && s.is.origin == string(p.Path) {
			t.replayPre(&journal.Record{Pre: p, At: p.Path})
		}
	}
}

func (t *tree) replayPre(r *journal.Record) {
	s := t.find(string(r.At))
	if s == nil {
		return
	}
	s.used = s.dir != nil
	if r.Pre.State.Kind == journal.Absent {
		s.is = nil
		return
	}
	if s.is != nil && s.is.origin == string(r.Pre.Path) {
		s.is.meta, s.is.id = true, r.Pre.State.ID
	}
}

// replayName follows a name in a directory that the step made: only there is
// nothing else written down of it.
func (t *tree) replayName(at string) {
	s := t.find(at)
	if s == nil {
		return
	}
	if s.dir != nil && s.dir.origin != "" && s.dir.at != nil && s.dir.at.dir != nil {
		s.dir.at.made()
		s = t.find(at)
	}
	s.used = true
}

func (t *tree) replayMove(m *journal.Move) {
	from, to := t.find(string(m.From)), t.find(string(m.To))
	switch {
	case from == nil || to == nil:
	case m.Exchange:
		to.exchanged(from)
	default:
		to.moved(from)
	}
}

// movesMade says which renames of a step were made. The last one may not have been when
// its writer was killed, and after a loss of power some more: the journal can be
// further than the tree. They were made in order, so what is found where it was
// before one of them tells of all that come after it. Two names of one file stay
// two, and a rename of one to the other is found not made as well.
func movesMade(roots []disk.Root, st *steplog.Step) []bool {
	made := make([]bool, len(st.Trail))
	failed := make(map[[2]string]int)
	var moves []int
	for i := len(st.Trail) - 1; i >= 0; i-- {
		m := st.Trail[i].Move
		if m == nil {
			continue
		}
		names := [2]string{string(m.From), string(m.To)}
		switch {
		case m.Failed:
			failed[names]++
		case failed[names] > 0:
			failed[names]--
		default:
			made[i] = true
			moves = append(moves, i)
		}
	}
	for n, i := range moves {
		m := st.Trail[i].Move
		if isAt(roots, m.From, m.ID) {
			for _, later := range moves[:n+1] {
				made[later] = false
			}
		} else if isAt(roots, m.To, m.ID) {
			break
		}
	}
	return made
}

func isAt(roots []disk.Root, path journal.Bytes, id journal.ID) bool {
	now, err := disk.LookIn(roots, string(path))
	return err == nil && id != (journal.ID{}) && now.ID == id
}
