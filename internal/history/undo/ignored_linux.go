package undo

import (
	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/pathname"
)

// spared says whether some step left something at a path that no undo takes away,
// as it is ignored.
func (u *actor) spared(path string) bool {
	if u.alone == nil {
		u.alone = make(map[string]bool)
		for _, st := range u.log.Known {
			named := steplog.Carriers(st.Posts())
			for at, left := range st.Spares().Left {
				if before := named(at); left && before != "" {
					u.alone[before] = true // when what it lies in is back
				}
				u.alone[at] = u.alone[at] || left
			}
		}
	}
	return u.alone[path]
}

// allSpared says whether nothing else than that lies in a directory.
func (u *actor) allSpared(dir string) bool {
	names, err := disk.NamesIn(u.roots, dir)
	for _, n := range names {
		at := pathname.Join(dir, n)
		if u.spared(at) {
			continue
		}
		if found, err := disk.LookIn(u.roots, at); err != nil || found.Kind != journal.Dir || !u.allSpared(at) {
			return false
		}
	}
	return err == nil && len(names) > 0
}

// tellAlone lists what steps did in mounted file systems, and what they destroyed and an
// undo leaves alone: of a directory with all that was in it, that.
func (u *undo) tellAlone(p *Plan, steps []*steplog.Step) {
	for _, s := range steps {
		for _, b := range s.Pres() {
			if b.Apart() && u.asked(string(b.Path)) {
				p.Unrestorable = append(p.Unrestorable, Unrestorable{string(b.Path), b.Lost})
			}
		}
		spared, told := s.Spares(), make(map[string]bool)
		for _, c := range s.Changes() { // directories before what was in them
			at := c.Path
			if q, ok := s.PostOf(at); ok && c.What != steplog.Removed && len(q.Origin) > 0 {
				at = string(q.Origin)
			}
			if c.Lost != journal.Ignored || !spared.Found[at] || !u.asked(at) {
				continue
			}
			told[at] = true
			if !told[pathname.Parent(at)] {
				p.Unrestorable = append(p.Unrestorable, Unrestorable{at, journal.Ignored})
			}
		}
	}
}
