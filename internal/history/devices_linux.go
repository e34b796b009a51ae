package history

import (
	"golang.org/x/sys/unix"

	"carrel/internal/history/journal"
)

// renumbered gives the numbers that have changed since a step began, nil for none.
func renumbered(b *journal.Begin) map[uint64]uint64 {
	var out map[uint64]uint64
	for i, was := range b.Devices {
		var st unix.Stat_t
		if was == 0 || i >= len(b.Roots) || unix.Lstat(string(b.Roots[i]), &st) != nil || st.Dev == was {
			continue
		}
		if out == nil {
			out = make(map[uint64]uint64)
		}
		out[was] = st.Dev
	}
	return out
}

// present makes a record name file systems by the numbers that they have now: the
// next start of the machine, or the next mount, may give those of the roots others.
func (s *Step) present(r *journal.Record) {
	if r.Begin != nil {
		s.renumbered = renumbered(r.Begin)
	}
	if s.renumbered == nil {
		return
	}
	for _, id := range r.IDs() {
		if now, ok := s.renumbered[id.Dev]; ok {
			id.Dev = now
		}
	}
}
