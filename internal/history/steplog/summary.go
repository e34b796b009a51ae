package steplog

import (
	"cmp"
	"slices"

	"carrel/internal/history/journal"
	"carrel/internal/pathname"
)

// What a step did to a path, in the end.
const (
	Added    = "added"
	Modified = "modified"
	Removed  = "removed"
	Renamed  = "renamed"
	Changed  = "mode" // mode, owner, times or attributes only
)

// PathChange is one path that a step changed, in the end: what it made and
// removed again is not told.
type PathChange struct {
	Path  string
	From  string // of a rename
	What  string
	Kind  journal.Kind
	Bytes int64  // that the file has now, or had when it was removed; see UnknownSize
	Lost  string // why its former content is not kept, "" where it is
}

// Counts tells what a step comes to.
func (s *Step) Counts() journal.Counts {
	if s.counts == nil {
		c := countsOf(s.Changes())
		c.Kept, c.Edited = s.kept(), len(s.Between())
		s.counts = &c
	}
	return *s.counts
}

func countsOf(changes []PathChange) (c journal.Counts) {
	for i := range changes {
		switch changes[i].What {
		case Added:
			c.Added++
		case Removed:
			c.Removed++
		case Renamed:
			c.Renamed++
		default:
			c.Modified++
		}
		if changes[i].Lost != "" {
			c.Lost++
		}
	}
	return c
}

// Net says whether a step changed anything in the end, or destroyed what another program
// wrote meanwhile.
func (s *Step) Net() bool {
	c := s.Counts()
	return c.Added+c.Modified+c.Removed+c.Renamed+c.Edited > 0
}

// Changes lists what a step changed, by path. Directories are told where they
// were made, removed, renamed or given other metadata, not where only names in them changed.
func (s *changes) Changes() []PathChange {
	var out []PathChange
	here := make(map[string]bool) // origins that still are somewhere
	carried := Carriers(s.Posts())
	for i := range s.Posts() {
		q := &s.posts[i]
		path, origin := string(q.Path), string(q.Origin)
		if q.State.Kind == journal.Absent {
			continue
		}
		pre, known := s.PreOf(path)
		if origin == "" && known && pre.State.Kind == q.State.Kind && q.State.Kind == journal.File {
			origin = path // replaced by another file, as editors save
		}
		if origin == "" {
			if known && pre.State.Kind != journal.Absent {
				continue // told as removed and added below
			}
			out = append(out, PathChange{Path: path, What: Added, Kind: q.State.Kind, Bytes: q.State.Size})
			continue
		}
		here[origin] = true
		was, known := s.PreOf(origin)
		if c := compare(q, &was, known); c != "" || origin != path && carried(path) != origin {
			change := PathChange{Path: path, What: c, Kind: q.State.Kind, Bytes: q.State.Size}
			if !q.Unwritten || was.Lost == journal.Ignored {
				change.Lost = was.Lost
			}
			if origin != path && carried(path) != origin {
				change.What, change.From = Renamed, origin
			}
			out = append(out, change)
		}
	}
	for i := range s.Pres() {
		b := &s.pres[i]
		path := string(b.Path)
		if b.Apart() {
			out = append(out, PathChange{Path: path, What: Modified, Kind: b.State.Kind, Lost: b.Lost})
			continue
		}
		if b.State.Kind == journal.Absent || here[path] {
			continue
		}
		out = append(out, PathChange{Path: path, What: Removed, Kind: b.State.Kind, Bytes: b.State.Size, Lost: b.Lost})
		if q, ok := s.PostOf(path); ok && q.State.Kind != journal.Absent {
			out = append(out, PathChange{Path: path, What: Added, Kind: q.State.Kind, Bytes: q.State.Size})
		}
	}
	slices.SortStableFunc(out, func(a, b PathChange) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// compare says what became of something that stayed what it is, or of a file in whose
// place the step put another one.
func compare(q *journal.Post, was *journal.Pre, known bool) string {
	now := &q.State
	switch {
	case !known:
		return ""
	case now.Kind != was.State.Kind:
		return Modified
	case now.Kind == journal.File && q.Origin == "" && now.ID != was.State.ID: // of equal size and time as well
		return Modified
	case now.Kind == journal.File && !q.Unwritten && journal.RewrittenSince(now, &was.State) && (was.Object != (journal.Object{}) || was.Lost != "" || was.State.Size == 0):
		return Modified
	case now.Kind == journal.Symlink && now.Target != was.State.Target:
		return Modified
	case now.Mode != was.State.Mode, now.UID != was.State.UID, now.GID != was.State.GID, !journal.AgreeXattrs(now, &was.State):
		return Changed
	case (now.Kind != journal.Dir || q.Timed) && now.Mtime != was.State.Mtime:
		return Changed
	}
	return ""
}

// Touches says whether a step changed a path or something below it.
func (s *Step) Touches(path string) bool {
	carried := s.Carried(path)
	return slices.ContainsFunc(s.Changes(), func(c PathChange) bool {
		return pathname.Within(c.Path, path) || c.From != "" && pathname.Within(c.From, path) || pathname.Within(c.Path, carried)
	}) || slices.ContainsFunc(s.Between(), func(b journal.Pre) bool { return pathname.Within(string(b.Path), path) })
}

// kept is how many bytes of former content a step keeps, as far as it knows.
func (s *changes) kept() (n int64) {
	for i := range s.Pres() {
		if p := &s.pres[i]; p.Object != (journal.Object{}) || p.Inode != (journal.Object{}) {
			n += p.State.Size
		}
	}
	for i := range s.Between() {
		if p := &s.between[i]; p.Object != (journal.Object{}) {
			n += p.State.Size
		}
	}
	return n
}
