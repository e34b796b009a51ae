package history

import (
	"maps"
	"slices"
)

// plan makes the plan of one step of a request. What cannot come back any more
// stays as it is, and is told.
func (u *undo) plan(st *Step, fresh func() Object, found *found, conflicts []Conflict) *Plan {
	gone := u.gone(st)
	p := planOf(st, u.view(st, fresh, found, conflicts, gone))
	for _, at := range slices.Sorted(maps.Keys(gone)) {
		if _, ok := st.PreOf(at); ok && u.asked(st, at) {
			p.Unrestorable = append(p.Unrestorable, Unrestorable{at, "an undo that was not finished has put it back already; what is there now stays"})
		}
	}
	return p
}

// asked says whether a path is one of those that a request is about.
func (u *undo) asked(st *Step, path string) bool {
	if u.req.Paths != nil && u.paths[st] == nil {
		u.paths[st] = st.withNames(u.req.Paths)
	}
	return u.req.Paths == nil || slices.ContainsFunc(u.paths[st], func(p string) bool { return within(path, p) })
}

// gone finds the paths of a step whose content is in the history no more: an undo
// that did a part of it had put it back.
func (u *undo) gone(st *Step) map[string]bool {
	if !slices.ContainsFunc(u.log.partly, func(p *Step) bool { return slices.Contains(p.Begin.Of, st.Number) }) {
		return nil
	}
	out := make(map[string]bool)
	for i := range st.Pres() {
		b := &st.pres[i]
		if b.State.Kind != File || b.Object == (Object{}) {
			continue
		}
		if _, ok := u.keptNow(b.Object); !ok {
			out[string(b.Path)] = true
		}
	}
	if len(out) == 0 {
		return nil
	}
	for i := range st.Posts() {
		if q := &st.posts[i]; out[string(q.Origin)] {
			out[string(q.Path)] = true
		}
	}
	return out
}
