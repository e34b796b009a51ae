package workspace

import (
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"carrel/internal/broker"
	"carrel/internal/gitconf"
	"carrel/internal/pathname"
	"carrel/internal/policy"
)

// maxNestedDirs bounds the directories that are remembered with what their
// repositories name.
const maxNestedDirs = 100_000

// namedTargets are what git's configuration names: that of the start, and that
// of repositories below the project, which is read when something in them first
// changes. What a run makes itself is vetted and names nothing.
type namedTargets struct {
	start  []gitconf.Target
	mu     sync.Mutex
	nested map[string][]gitconf.Target // by the directory: those of all working trees around it
}

// target finds a target that a change would make, replace or bring to its place.
func (d *decider) target(ch *broker.Change, at string) *policy.Rule {
	if ch.Op == broker.OpRename && ch.Kind == broker.KindDir && at == ch.To || ch.Op == broker.OpExchange {
		d.named.forget()
	}
	for i := range d.named.start {
		if t := &d.named.start[i]; reaches(ch, at, t) {
			r := ruleOf(t, at)
			return &r
		}
	}
	list := d.named.of(path.Dir(at))
	for i := range list {
		if t := &list[i]; reaches(ch, at, t) && !d.configs(t.Path) {
			r := ruleOf(t, at)
			return &r
		}
	}
	return nil
}

// of reads what the repositories of the working trees around a directory name, its own
// first.
func (n *namedTargets) of(dir string) []gitconf.Target {
	n.mu.Lock()
	defer n.mu.Unlock()
	if list, known := n.nested[dir]; known {
		return list
	}
	if len(n.nested) >= maxNestedDirs {
		clear(n.nested)
	}
	var outer []string
	var list []gitconf.Target
	for known := false; len(dir) > 1 && !known; dir = path.Dir(dir) {
		if list, known = n.nested[dir]; !known {
			outer = append(outer, dir)
		}
	}
	for _, dir := range slices.Backward(outer) {
		list = slices.Concat(namedIn(dir), list)
		n.nested[strings.Clone(dir)] = list
	}
	return list
}

// namedIn reads what the repository of a working tree names, nothing where there is none.
func namedIn(dir string) (list []gitconf.Target) {
	if _, err := os.Lstat(dir + "/.git/config"); err != nil {
		return nil
	}
	repository := gitconf.Repository{Dir: dir + "/.git", Trees: []string{dir}}
	none := func(string) string { return "" }
	l := gitconf.Load(gitconf.Host{Files: hostFiles{}, Env: none, Repositories: []gitconf.Repository{repository}})
	for _, t := range l.Targets() {
		if t.Path != "" && t.Path != dir && t.File != "" && (pathname.Within(t.File, dir) || pathname.Within(t.Path, dir)) {
			list = append(list, t)
		}
	}
	links(dir+"/.git/hooks", func(link string) {
		on, final := gitconf.Follow(hostFiles{}, link)
		for i, at := range append(on, final) {
			if at != link && at != dir {
				list = append(list, gitconf.Target{Path: at, File: link, Link: i < len(on), Why: "git runs it"})
			}
		}
	})
	return list
}

// forget drops what is known of places when directories move.
func (n *namedTargets) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.nested)
}

// reaches tells whether a change of a path is one of a target. Names that differ
// in case count: the file system may take them for the same.
func reaches(ch *broker.Change, at string, t *gitconf.Target) bool {
	if t.Path == "" {
		return reachesAnywhere(ch, at, t)
	}
	switch {
	case withinFolded(at, t.Path):
		return true
	case !withinFolded(t.Path, at):
		return false
	}
	return brings(ch, at, t.Path[len(at):])
}

// brings tells whether a change at a directory above a target puts something in
// its place, or a link on the way to it; rest is the target's path below it.
func brings(ch *broker.Change, at, rest string) bool {
	from, kind := ch.Path, ch.Kind
	switch ch.Op {
	case broker.OpSymlink:
		return true
	case broker.OpLink, broker.OpRename:
		if at != ch.To {
			return false
		}
	case broker.OpExchange:
		if at == ch.Path {
			from, kind = ch.To, ch.Over
		}
	default:
		return false
	}
	if kind == broker.KindSymlink {
		return true
	}
	if kind != broker.KindDir {
		return false
	}
	return occupied(from, rest)
}

// occupied tells whether there is something at a path below a directory, or
// something other than a directory on the way.
func occupied(dir, rest string) bool {
	for part := range strings.SplitSeq(strings.Trim(rest, "/"), "/") {
		dir += "/" + part
		st, err := os.Lstat(dir)
		if err != nil {
			return false
		}
		if !st.IsDir() {
			return true
		}
	}
	return true
}

// reachesAnywhere judges a path that means another file in each working tree. A
// directory of hooks counts wherever it is, as a repository can be made around
// it later; a word of a command counts where there is a repository.
func reachesAnywhere(ch *broker.Change, at string, t *gitconf.Target) bool {
	low, rest := strings.ToLower(at)+"/", "/"+strings.ToLower(t.Rest)+"/"
	for i := 0; ; i++ {
		next := strings.Index(low[i:], rest)
		if next < 0 {
			break
		}
		i += next
		if t.Tree {
			return true
		}
		if _, err := os.Lstat(at[:min(i, len(at))] + "/.git"); err == nil {
			return true
		}
	}
	parts := strings.Split(t.Rest, "/")
	for n := 1; t.Tree && n < len(parts); n++ {
		if strings.HasSuffix(low, "/"+strings.ToLower(strings.Join(parts[:n], "/"))+"/") && brings(ch, at, strings.Join(parts[n:], "/")) {
			return true
		}
	}
	return false
}

// withinFolded is within for names that differ in case only.
func withinFolded(at, dir string) bool {
	return len(at) >= len(dir) && strings.EqualFold(at[:len(dir)], dir) && (len(at) == len(dir) || at[len(dir)] == '/')
}
