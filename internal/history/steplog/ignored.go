package steplog

import (
	"cmp"
	"slices"

	"carrel/internal/history/journal"
	"carrel/internal/pathname"
)

// Spared is what an undo leaves as it is: by the path that a step left it at, and by
// the one at which the step found it.
type Spared struct{ Left, Found map[string]bool }

// Spares finds what of a step is ignored and can be left where it is. What lies in a
// directory that goes, since the step made it, goes too; and where something comes
// back to the place of what is ignored, or into a directory that was, that has to
// make way.
func (s *changes) Spares() (a Spared) {
	if !slices.ContainsFunc(s.Pres(), func(b journal.Pre) bool { return b.Lost == journal.Ignored }) {
		return a
	}
	posts := slices.Clone(s.Posts())
	slices.SortStableFunc(posts, func(x, y journal.Post) int { return cmp.Compare(pathname.Depth(x.Path), pathname.Depth(y.Path)) })
	now, named := make(map[string]string), Carriers(posts)
	for i := range posts {
		if q := &posts[i]; len(q.Origin) > 0 {
			now[string(q.Origin)] = string(q.Path)
		}
	}
	taken := make(map[string]bool)
	for known := -1; known < len(taken); {
		known = len(taken)
		a = s.sparesBut(posts, taken, named)
		carried := Carriers(slices.DeleteFunc(slices.Clone(posts), func(q journal.Post) bool { return a.Left[string(q.Path)] }))
		stays := make(map[string][]string) // what is left alone, by what it will be called
		for i := range posts {
			if at := string(posts[i].Path); a.Left[at] {
				stays[carried(at)] = append(stays[carried(at)], at)
			}
		}
		for i := range s.Pres() {
			if b := &s.pres[i]; b.State.Kind != journal.Absent && !a.Found[string(b.Path)] {
				s.takes(string(b.Path), a, taken, now, stays, carried)
			}
		}
	}
	return a
}

// sparesBut is that, where some places are taken by what comes back.
func (s *changes) sparesBut(posts []journal.Post, taken map[string]bool, named func(string) string) Spared {
	a := Spared{make(map[string]bool), make(map[string]bool)}
	back := make(map[string]bool) // what is moved back
	for i := range posts {
		q := &posts[i]
		if a.Left[string(q.Path)] = !taken[string(q.Path)] && s.isIgnored(q, a, named) && s.stands(q, a); !a.Left[string(q.Path)] {
			back[string(q.Origin)] = true
		}
	}
	for i := range s.Pres() {
		b := &s.pres[i]
		a.Found[string(b.Path)] = b.Lost == journal.Ignored && !back[string(b.Path)] && !taken[string(b.Path)]
	}
	return a
}

// takes notes the places that have to be free, or directories, for something to come
// back to a path. now says where is what the step found at a path, stays where is
// what will be there if it is left alone: it may lie in a directory that is moved back.
func (s *changes) takes(path string, a Spared, taken map[string]bool, now map[string]string, stays map[string][]string, carried func(string) string) {
	for _, at := range stays[path] {
		taken[at] = true
	}
	for dir := pathname.Parent(path); dir != ""; dir = pathname.Parent(dir) {
		at, alive := now[dir]
		switch {
		case alive && carried(at) == dir:
		case alive:
			if a.Left[at] {
				taken[at] = true // it comes back, too
			}
		default:
			_, ok := s.PostOf(dir) // none in a directory that is gone
			again := slices.ContainsFunc(stays[dir], func(at string) bool { q, _ := s.PostOf(at); return q.State.Kind == journal.Dir })
			if !again && (ok || a.Found[dir]) {
				taken[dir] = true
			}
		}
	}
}

// isIgnored goes by the name that something had when the step began, or that what
// the step made would have had in the directory that it made it in.
func (s *changes) isIgnored(q *journal.Post, a Spared, named func(string) string) bool {
	at := string(q.Origin)
	if at == "" {
		at = named(string(q.Path))
	}
	if b, known := s.PreOf(at); known {
		return b.Lost == journal.Ignored
	}
	return a.Left[pathname.Parent(string(q.Path))] // made in a directory that the step made
}

// stands says whether no directory on the way to what the step left goes.
func (s *changes) stands(q *journal.Post, a Spared) bool {
	for dir := pathname.Parent(string(q.Path)); dir != ""; dir = pathname.Parent(dir) {
		if above, ok := s.PostOf(dir); ok && above.State.Kind == journal.Dir && len(above.Origin) == 0 && !a.Left[dir] {
			return false
		}
	}
	return true
}
