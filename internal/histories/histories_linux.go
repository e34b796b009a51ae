// Package histories looks at the histories of all projects in one place: what each
// takes, the project that it is of, and when it was used last. It holds them to their limit together:
// the oldest steps go of the projects that were not used for the longest time. Those
// that are in use stay as they are. Where the place is, and who may ask, is decided by
// package decide.
package histories

import (
	"os"
	"slices"
	"time"

	"carrel/internal/changelog"
	"carrel/internal/history"
	"carrel/internal/statedir"
)

// Place are those of all projects in one place.
type Place struct {
	state *statedir.Dir
	place string // one directory a project
	tail  string // of a history in that
}

// InPlace gives those in a place of the user's own.
func InPlace(s *statedir.Dir, place string) Place { return Place{state: s, place: place} }

// Usage says what they take, and what histories elsewhere do. Those that are exact are
// counted; the others are estimated.
func (h Place) Usage(exact bool) (*Usage, error) {
	u := &Usage{}
	list, err := h.list()
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for i := range list {
		if exact {
			recount(&list[i])
		}
		u.add(h.state, &list[i], true)
		u.Total += list[i].size.Bytes
	}
	for _, one := range h.elsewhere() {
		u.add(h.state, &one, false)
	}
	slices.SortStableFunc(u.Projects, func(a, b Project) int { return b.Used.Compare(a.Used) })
	return u, nil
}

// InState gives those in the state directory.
func InState(s *statedir.Dir) Place {
	return Place{state: s, place: s.Root() + "/projects", tail: "/history"}
}

// ids are the projects that have a directory in the place.
func (h Place) ids() ([]string, error) {
	d, err := os.Open(h.place)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	return slices.DeleteFunc(names, func(n string) bool { return !statedir.IsProjectID(n) }), err
}

// list estimates what each history takes.
func (h Place) list() ([]holding, error) {
	ids, err := h.ids()
	if err != nil {
		return nil, err
	}
	var out []holding
	for _, id := range ids {
		if one, ok := holdingAt(h.state, id, h.place+"/"+id+h.tail); ok {
			out = append(out, one)
		}
	}
	return out, nil
}

// holdingAt estimates what the history of a project takes that is in a directory; false
// where there is none.
func holdingAt(s *statedir.Dir, id, dir string) (holding, bool) {
	size, err := history.EstimateAt(dir)
	if err != nil {
		return holding{}, false
	}
	return holding{id: id, dir: dir, size: size, used: lastUse(s, id, dir)}, true
}

// lastUse is when a run of the project began, or an undo was made. Earlier versions did
// not write that down: then it is when the history counted something last.
func lastUse(s *statedir.Dir, id, dir string) time.Time {
	for _, at := range []string{s.Root() + "/projects/" + id + statedir.PathFile, dir + "/counters"} {
		if info, err := os.Lstat(at); err == nil {
			return info.ModTime()
		}
	}
	return time.Time{}
}

// recordsOf is the directory with the records of a project's runs.
func (h Place) recordsOf(id string) string {
	return RecordsIn(h.state.Root() + "/projects/" + id)
}

// nameOf is what a person calls a project: its path, or its id where that is not known.
func (h Place) nameOf(one holding) string {
	if path := pathOf(h.state, one); path != "" {
		return statedir.Quoted(path)
	}
	return "project " + one.id
}

// pathOf is the path of a project, "" where it is not known. Earlier versions did not
// write it down, and it is the root of some step.
func pathOf(s *statedir.Dir, h holding) string {
	if path := s.NotedPath(h.id); path != "" {
		return path
	}
	journals, err := os.ReadDir(h.dir + "/journal")
	if err != nil || len(journals) == 0 {
		return ""
	}
	store, err := history.Open(h.dir)
	if err != nil {
		return ""
	}
	defer store.Close()
	for _, j := range journals[:min(len(journals), triedJournals)] {
		if size, err := store.SegmentSize(j.Name()); err != nil || size > MaxCounted {
			continue
		}
		log, err := store.ReadSegment(j.Name())
		if err != nil {
			continue
		}
		for _, step := range log.Steps {
			for _, root := range step.Begin.Roots {
				if statedir.ProjectID(string(root)) == h.id {
					return string(root)
				}
			}
		}
	}
	return ""
}

// triedJournals is how many journals are looked into for the path of a project.
const triedJournals = 3

func (u *Usage) add(s *statedir.Dir, h *holding, counted bool) {
	one := Project{
		ID: h.id, Path: pathOf(s, *h), Dir: h.dir, Used: h.used, Counted: counted,
		Steps: h.size.Steps, Bytes: h.size.Bytes, Exact: h.exact,
	}
	if one.Path != "" {
		_, err := os.Lstat(one.Path)
		one.Gone = os.IsNotExist(err)
	}
	u.Projects = append(u.Projects, one)
}

// elsewhere estimates the histories that are where history.dir has been, or from before
// it was set.
func (h Place) elsewhere() (out []holding) {
	own := InState(h.state)
	ids, _ := own.ids() // without any there is nothing elsewhere
	for _, id := range ids {
		for _, dir := range append([]string{own.place + "/" + id + own.tail}, statedir.ReadPlaces(own.place+"/"+id)...) {
			if dir == h.place+"/"+id+h.tail {
				continue
			}
			if one, ok := holdingAt(h.state, id, dir); ok && one.size.Steps > 0 {
				out = append(out, one)
			}
		}
	}
	return out
}

// RecordsIn is where the records of changes are in a project's directory of the state.
func RecordsIn(dir string) string { return dir + changelog.Dir }
