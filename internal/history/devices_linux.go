package history

import "golang.org/x/sys/unix"

// present makes a record name file systems by the numbers that they have now: the
// next start of the machine, or the next mount, may give those of the roots others.
func (s *Step) present(r *Record) {
	if r.Begin != nil {
		s.renumbered = renumbered(r.Begin)
	}
	if s.renumbered == nil {
		return
	}
	for _, id := range r.ids() {
		if now, ok := s.renumbered[id.Dev]; ok {
			id.Dev = now
		}
	}
}

// renumbered gives the numbers that have changed since a step began, nil for none.
func renumbered(b *Begin) map[uint64]uint64 {
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

// ids are the inodes that a record names.
func (r *Record) ids() (out []*ID) {
	switch {
	case r.Pre != nil:
		out = append(out, &r.Pre.State.ID)
		if r.Pre.Was != (ID{}) {
			out = append(out, &r.Pre.Was)
		}
		if r.Pre.Within != nil {
			out = append(out, &r.Pre.Within.State.ID)
		}
	case r.Between != nil:
		out = append(out, &r.Between.State.ID)
	case r.Post != nil:
		out = append(out, &r.Post.State.ID)
	case r.Beyond != nil:
		out = append(out, &r.Beyond.State.ID)
	case r.Do != nil:
		out = append(out, &r.Do.State.ID)
	case r.Move != nil:
		out = append(out, &r.Move.ID)
	}
	return out
}
