package history

import "slices"

// What a step renamed has two names, of which an undo may be about one only: the
// other is not asked for, or somebody has something else there. It goes back to its
// first name or keeps the second, but is never taken from one and put nowhere.

// withNames gives some paths, and the other names of what a step renamed to or from
// one of them.
func (s *Step) withNames(paths []string) []string {
	out, carried := slices.Clone(paths), carriers(s.Posts())
	in := func(path string) bool {
		return slices.ContainsFunc(out, func(p string) bool { return within(path, p) })
	}
	for known := -1; known < len(out); {
		known = len(out)
		for i := range s.posts {
			at, origin := string(s.posts[i].Path), string(s.posts[i].Origin)
			if origin == "" || origin == at || carried(at) == origin {
				continue
			}
			switch a, b := in(at), in(origin); {
			case a && !b:
				out = append(out, origin)
			case b && !a:
				out = append(out, at)
			}
		}
	}
	return out
}

// holdPairs leaves what a step renamed where it is, with all that is in it, where
// what it was called before is left alone.
func (p *planner) holdPairs() {
	skip, held := p.skip, make(map[string]bool)
	skipped := func(path string) bool {
		if skip(path) {
			return true
		}
		for at := path; len(held) > 0 && at != ""; at = parentOf(at) {
			if held[at] {
				return true
			}
		}
		return false
	}
	for known := -1; known < len(held); {
		known = len(held)
		left := slices.DeleteFunc(slices.Clone(p.Step.Posts()), func(q Post) bool { return skipped(string(q.Path)) })
		carried := carriers(left)
		for i := range left {
			at, origin := string(left[i].Path), string(left[i].Origin)
			if origin == "" || left[i].State.Kind == Absent || carried(at) == origin || !skipped(origin) || skipped(at) {
				continue
			}
			held[at], held[origin] = true, true
			p.Unrestorable = append(p.Unrestorable, Unrestorable{at, "what has its former name is left alone, so it keeps this one"})
		}
	}
	p.skip = skipped
}
