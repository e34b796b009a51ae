package statedir

import (
	"os"
	"slices"
	"time"
)

// Kept is what is kept of one project.
type Kept struct {
	ID    string
	Path  string           // "" where it is not known
	Gone  bool             // there is no such directory any more
	Used  time.Time        // by the last run, or undo
	Parts map[string]int64 // bytes of the disk, by the name of each part
}

// Bytes is what all parts take together.
func (p *Kept) Bytes() (sum int64) {
	for _, n := range p.Parts {
		sum += n
	}
	return sum
}

// Parts of what is kept; all else is [PartOther].
const (
	PartHistory = "history"
	PartAgents  = "agents"
	PartCaches  = "caches"
	PartRecords = "changes"
	PartOther   = "other"
)

// Kept lists what is kept, that of the project that was used last first. Files of a
// project were written from inside: they are counted without following a link.
func (s *Dir) Kept() ([]Kept, error) {
	ids, err := s.projectIDs()
	if err != nil {
		return nil, err
	}
	var out []Kept
	for _, id := range ids {
		p := Kept{ID: id, Path: s.NotedPath(id), Parts: map[string]int64{}}
		dir := s.projectDir(id)
		if st, err := os.Lstat(dir + PathFile); err == nil {
			p.Used = st.ModTime()
		} else if st, err := os.Lstat(dir); err == nil {
			p.Used = st.ModTime()
		}
		p.Gone = gone(p.Path)
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			part := e.Name()
			if !slices.Contains([]string{PartHistory, PartAgents, PartCaches, PartRecords}, part) {
				part = PartOther
			}
			p.Parts[part] += sizeOf(dir, e.Name())
		}
		for _, elsewhere := range historiesElsewhere(dir, id) {
			p.Parts[PartHistory] += sizeOf(elsewhere, ".")
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b Kept) int { return b.Used.Compare(a.Used) })
	return out, nil
}

// gone says that there is no directory of a path any more. One that is not known is not
// gone.
func gone(path string) bool {
	if path == "" {
		return false
	}
	_, err := os.Lstat(path)
	return os.IsNotExist(err)
}

func (s *Dir) projectIDs() ([]string, error) {
	entries, err := os.ReadDir(s.Root() + "/projects")
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		if IsProjectID(e.Name()) && e.IsDir() {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

func (s *Dir) projectDir(id string) string { return s.Root() + "/projects/" + id }
