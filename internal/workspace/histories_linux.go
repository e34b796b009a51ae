package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"carrel/internal/history"
	"carrel/internal/policy"
)

// histories are those of all projects in one place.
type histories struct {
	state *stateDir
	place string // one directory a project
	tail  string // of a history in that
}

// histories gives those in the place where the project has its own.
func (p *Prepared) histories() histories {
	if p.historyAt == p.state.historyDir(p.place.project) {
		return p.state.histories()
	}
	return histories{state: p.state, place: filepath.Dir(p.historyAt)}
}

// histories gives those in the state directory.
func (s *stateDir) histories() histories {
	return histories{state: s, place: s.path + "/projects", tail: "/history"}
}

// ids are the projects that have a directory in the place.
func (h histories) ids() ([]string, error) {
	d, err := os.Open(h.place)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	return slices.DeleteFunc(names, func(n string) bool { return !isProjectID(n) }), err
}

// list estimates what each history takes.
func (h histories) list() ([]holding, error) {
	ids, err := h.ids()
	if err != nil {
		return nil, err
	}
	var out []holding
	for _, id := range ids {
		if one, ok := h.state.holding(id, h.place+"/"+id+h.tail); ok {
			out = append(out, one)
		}
	}
	return out, nil
}

// holding estimates what the history of a project takes that is in a directory; false
// where there is none.
func (s *stateDir) holding(id, dir string) (holding, bool) {
	size, err := history.EstimateAt(dir)
	if err != nil {
		return holding{}, false
	}
	return holding{id: id, dir: dir, size: size, used: s.lastUse(id, dir)}, true
}

// lastUse is when a run of the project began, or an undo was made. Earlier versions did
// not write that down: then it is when the history counted something last.
func (s *stateDir) lastUse(id, dir string) time.Time {
	for _, at := range []string{s.path + "/projects/" + id + pathFile, dir + "/counters"} {
		if info, err := os.Lstat(at); err == nil {
			return info.ModTime()
		}
	}
	return time.Time{}
}

// recordsOf is the directory with the records of a project's runs.
func (h histories) recordsOf(id string) string { return h.state.path + "/projects/" + id + recordsDir }

// nameOf is what a person calls a project: its path, or its id where that is not known.
func (h histories) nameOf(one holding) string {
	if path := h.state.pathOf(one); path != "" {
		return quoted(path)
	}
	return "project " + one.id
}

// pathOf is the path of a project, "" where it is not known. Earlier versions did not
// write it down, and it is the root of some step.
func (s *stateDir) pathOf(h holding) string {
	if path := s.toldPath(h.id); path != "" {
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
		if size, err := store.SegmentSize(j.Name()); err != nil || size > maxCountedJournal {
			continue
		}
		log, err := store.ReadSegment(j.Name())
		if err != nil {
			continue
		}
		for _, step := range log.Steps {
			for _, root := range step.Begin.Roots {
				if projectID(string(root)) == h.id {
					return string(root)
				}
			}
		}
	}
	return ""
}

// triedJournals is how many journals are looked into for the path of a project.
const triedJournals = 3

// HistoriesUsage says what the histories of all projects take. Those that are exact are
// counted; the others are estimated.
func HistoriesUsage(req Request, exact bool) (*Usages, error) {
	p := &Prepared{req: req}
	if err := p.locateHistory(); err != nil {
		return nil, err
	}
	if err := p.underCeilings().CheckUndo("du", policy.UndoPreview); err != nil {
		return nil, err
	}
	u := &Usages{Each: historyLimits(p.Loaded).Bytes, Altogether: totalBytes(p.Loaded)}
	if p.state == nil {
		return nil, errNoState
	}
	now := p.histories()
	list, err := now.list()
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for i := range list {
		if exact {
			recount(&list[i])
		}
		u.add(p.state, &list[i], true)
		u.Total += list[i].size.Bytes
	}
	for _, h := range p.state.elsewhere(now) {
		u.add(p.state, &h, false)
	}
	slices.SortStableFunc(u.Projects, func(a, b ProjectUsage) int { return b.Used.Compare(a.Used) })
	return u, nil
}

func (u *Usages) add(s *stateDir, h *holding, counted bool) {
	one := ProjectUsage{
		ID: h.id, Path: s.pathOf(*h), Dir: h.dir, Used: h.used, Counted: counted,
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
func (s *stateDir) elsewhere(now histories) (out []holding) {
	own := s.histories()
	ids, _ := own.ids() // without any there is nothing elsewhere
	for _, id := range ids {
		for _, dir := range append([]string{own.place + "/" + id + own.tail}, readPlaces(own.place+"/"+id)...) {
			if dir == now.place+"/"+id+now.tail {
				continue
			}
			if h, ok := s.holding(id, dir); ok && h.size.Steps > 0 {
				out = append(out, h)
			}
		}
	}
	return out
}
