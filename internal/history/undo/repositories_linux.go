package undo

import (
	"slices"

	"carrel/internal/history/graph"
	"carrel/internal/pathname"
)

// repositories are the directories that the steps of a request made, and the
// repositories among them that hold work of others: these stay whole, as the work is
// worth nothing without them.
type repositories struct {
	made   []graph.Node
	shared []graph.Node
}

// repositories finds them by what the steps come to together.
func (p *present) repositories(ts []graph.Transition) *repositories {
	r, left := &repositories{}, make(map[graph.Key]graph.Value, len(ts))
	for i := range ts {
		t := &ts[i]
		left[t.Key] = t.To
		if t.Key.Part == graph.Content && t.From.N == graph.Dead && p.Kind(t.Key.Node) == graph.Dir {
			r.made = append(r.made, t.Key.Node)
		}
	}
	for _, n := range r.made {
		if p.isRepository(n) && p.othersIn(n, left) {
			r.shared = append(r.shared, n)
		}
	}
	return r
}

// isRepository reports whether a directory has what git wants of a repository.
func (p *present) isRepository(dir graph.Node) bool {
	for _, name := range [...]string{"HEAD", "objects", "refs"} {
		if s := p.at[graph.Place{Dir: dir, Name: name}]; s == nil || s.node == 0 {
			return false
		}
	}
	return true
}

// othersIn reports whether something in a directory is not as the steps left it.
func (p *present) othersIn(dir graph.Node, left map[graph.Key]graph.Value) bool {
	for dirs := []graph.Node{dir}; len(dirs) > 0; {
		dir, dirs = dirs[len(dirs)-1], dirs[:len(dirs)-1]
		for _, name := range p.Residents(dir) {
			at := graph.Place{Dir: dir, Name: name}
			if by, known := left[at.Key()]; !known || p.Entry(at) != by.N {
				return true
			}
			n := p.Entry(at)
			if v, known := left[graph.Key{Part: graph.Content, Node: n}]; known && p.Content(n) != v.N {
				return true
			}
			if p.Kind(n) == graph.Dir {
				dirs = append(dirs, n)
			}
		}
	}
	return false
}

// where says where some directories are now.
func (p *present) where(nodes []graph.Node) (paths []string) {
	for _, n := range nodes {
		if d := p.dir(n); d.ok {
			paths = append(paths, d.path)
		}
	}
	return paths
}

// sharedBy gives the repository that stays with a path in it, "" for none.
func (p *present) sharedBy(path string) string {
	if i := slices.IndexFunc(p.shared, func(dir string) bool { return pathname.Within(path, dir) }); i >= 0 {
		return p.shared[i]
	}
	return ""
}
