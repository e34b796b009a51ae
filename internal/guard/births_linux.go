package guard

import (
	"errors"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"carrel/internal/broker"
	"carrel/internal/gitdir"
	"carrel/internal/pathname"
	"carrel/internal/protect"
)

// births are what a run has made that could make somebody run code later.
type births struct {
	mu     sync.Mutex
	born   map[string]bool // git directories made inside, which may get what init writes
	listed map[string]bool // names made inside that could run code later
	came   map[string]bool // directories of before the run that it has moved
	many   bool            // there were more than MaxListed of those
	more   bool            // there were more than MaxListed
	tell   func(at string) // is told of each name that is listed; nil for nobody
}

// Tell has each name that is listed told at once, those of before as well.
func (d *births) Tell(tell func(at string)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tell = tell
	for at := range d.listed {
		tell(at)
	}
}

// More says whether there were more than [MaxListed].
func (d *births) More() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.more
}

// MaxListed bounds what one run lists, and the git directories born in it.
const MaxListed = 1000

// bornAround gives the innermost git directory made inside that a path lies in, "" for none.
func (d *births) bornAround(at string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for dir := path.Dir(at); len(d.born) > 0 && len(dir) > 1; dir = path.Dir(dir) {
		if d.born[dir] {
			return dir
		}
	}
	return ""
}

// bornBelow says whether a directory is, or holds, a git directory made inside; old, whether
// it may hold a directory of before the run.
func (d *births) bornBelow(dir string) (born, old bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	old = d.many
	for at := range d.born {
		born = born || pathname.Within(at, dir)
	}
	for at := range d.came {
		old = old || pathname.Within(at, dir)
	}
	return born, old
}

// newGitDir says whether a directory of this name is one that git makes: a
// repository, a worktree's or a submodule's part of one.
func newGitDir(at string) bool {
	dir, base := path.Split(at)
	if base == ".git" || strings.HasSuffix(dir, "/.git/worktrees/") {
		return true
	}
	_, below, _ := strings.Cut(at, "/.git/")
	if rest, worktree := strings.CutPrefix(below, "worktrees/"); worktree {
		_, below, _ = strings.Cut(rest, "/")
	}
	module, ok := strings.CutPrefix(below, "modules/")
	return ok && !slices.ContainsFunc(strings.Split(module, "/"), func(part string) bool {
		return slices.Contains([]string{"objects", "refs", "logs", "hooks", "info", "branches", "lfs"}, part)
	})
}

func makes(ch *broker.Change) bool {
	switch ch.Op {
	case broker.OpCreate, broker.OpMkdir, broker.OpMknod, broker.OpBind, broker.OpSymlink, broker.OpLink, broker.OpRename, broker.OpExchange:
		return true
	}
	return false
}

// Made takes note of a change that has been made.
func (d *Guard) Made(ch *broker.Change) {
	d.worktree.changed(ch)
	switch {
	case ch.Op == broker.OpMkdir && newGitDir(ch.Path):
		d.bear(ch.Path)
	case ch.Op == broker.OpRmdir:
		d.mu.Lock()
		delete(d.born, ch.Path)
		delete(d.came, ch.Path)
		d.mu.Unlock()
	case ch.Op == broker.OpRename && ch.Kind == broker.KindDir, ch.Op == broker.OpExchange:
		d.moved(ch.Path, ch.To, ch.Op == broker.OpExchange)
		places := []string{ch.To}
		if ch.Op == broker.OpExchange {
			places = append(places, ch.Path)
		}
		for _, at := range places {
			d.listMoved(at)
			if !d.madeSince(at) {
				d.mu.Lock()
				if d.many = d.many || len(d.came) >= MaxListed; !d.many {
					d.came[strings.Clone(at)] = true
				}
				d.mu.Unlock()
			}
		}
	}
	if !makes(ch) {
		return
	}
	at := ch.Path
	if ch.To != "" {
		at = ch.To
	}
	d.complete(at)
	if ch.Op == broker.OpExchange {
		d.complete(ch.Path)
	}
}

// complete finds a git directory that a new name has made one.
func (d *facts) complete(at string) {
	rel := d.c.relative(at)
	root := strings.TrimSuffix(at[:len(at)-len(rel)], "/")
	for _, dir := range protect.Within(rel, d.folds(at)) {
		full := path.Join(root, dir)
		if piece := at[len(full)+1:]; !strings.Contains(piece, "/") && protect.BareRepository(holds(full, "")) && !protect.BareRepository(holds(full, piece)) {
			d.bear(full)
		}
	}
}

func (d *births) bears(dir string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.born[dir]
}

func (d *births) bear(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.born) < MaxListed {
		d.born[strings.Clone(dir)] = true
	}
	d.remember(dir)
}

// moved renames what is known below a directory.
func (d *births) moved(from, to string, exchange bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range []map[string]bool{d.born, d.listed, d.came} {
		var added []string
		for at := range m {
			switch {
			case pathname.Within(at, from):
				delete(m, at)
				added = append(added, to+at[len(from):])
			case pathname.Within(at, to):
				delete(m, at)
				if exchange {
					added = append(added, from+at[len(to):])
				}
			}
		}
		for _, at := range added {
			m[at] = true
		}
	}
}

// list remembers what was made inside, or written to, and could run code later. In a git
// directory only what is made counts: git's own commands write to what is there.
func (d *births) list(ch *broker.Change, at string) {
	if ch.Asked {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	made := at == ch.Path && ch.Kind == broker.KindNone || at == ch.To && ch.Over == broker.KindNone
	written := !strings.Contains(at, "/.git/") && (ch.Op == broker.OpOpen || ch.Op == broker.OpTruncate || ch.Op == broker.OpExchange || ch.Op == broker.OpRename && at == ch.To)
	if made || written {
		d.remember(at)
	}
}

// listAgain lists what was there, and has become something that runs code later.
func (d *births) listAgain(at string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remember(at)
}

func (d *births) remember(at string) {
	if d.listed[at] {
		return
	}
	if d.more = d.more || len(d.listed) >= MaxListed; !d.more {
		at = strings.Clone(at)
		d.listed[at] = true
		if d.tell != nil {
			d.tell(at)
		}
	}
}

// Names are those to look at before anything outside acts on them: what was made
// inside, is still there, and is not as git's own commands leave it. Repositories
// come first; a directory stands for what is in it. They are looked at when
// nothing inside is alive any more.
func (d *facts) Names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	kept := make(map[string]bool)
	for at := range d.listed {
		if _, err := os.Lstat(at); !errors.Is(err, os.ErrNotExist) && !d.usual(at) {
			kept[at] = true
		}
	}
	names := slices.DeleteFunc(slices.Collect(maps.Keys(kept)), func(at string) bool {
		for above := path.Dir(at); len(above) > 1; above = path.Dir(above) {
			if kept[above] {
				return true
			}
		}
		return false
	})
	slices.Sort(names)
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case d.born[a] == d.born[b]:
			return 0
		case d.born[a]:
			return -1
		}
		return 1
	})
	for i, at := range names {
		names[i] = strings.TrimPrefix(at, d.c.Project+"/")
	}
	return names
}

// usual says whether something made inside is what git's own commands make: a
// repository that can run nothing, or a pointer to one in the project's own.
func (d *facts) usual(at string) bool {
	if d.born[at] {
		return d.c.ordinary(at)
	}
	if path.Base(at) != ".git" {
		return false
	}
	text, err := gitdir.ReadSmall(at)
	if err != nil {
		return false
	}
	to, ok := strings.CutPrefix(strings.TrimRight(text, "\n"), "gitdir: ")
	if !ok || path.IsAbs(to) && path.Clean(to) != to {
		return false
	}
	if !path.IsAbs(to) {
		up := strings.TrimLeft(to, "./")
		if strings.Contains("/"+up, "/..") {
			return false // what a link on the way makes of ".." is not in the letters
		}
		to = path.Dir(at) + "/" + to
	}
	to = path.Clean(to)
	st, err := os.Lstat(to)
	if err != nil || !st.IsDir() || !(d.born[to] && path.Base(path.Dir(to)) == "worktrees") && (d.c.Git.Common == "" || !strings.HasPrefix(to, d.c.Git.Common+"/modules/") && !strings.HasPrefix(to, d.c.Git.Common+"/worktrees/")) {
		return false
	}
	return !d.born[to] || d.c.ordinary(to) // one that was there is held
}

// Expected says whether a protected name that is there, and was not, is a piece
// of a repository made inside that can run nothing.
func (d *facts) Expected(at string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for dir := path.Dir(at); len(dir) > 1; dir = path.Dir(dir) {
		if d.born[dir] {
			return d.c.ordinary(dir)
		}
	}
	return false
}

// ordinary says whether a git directory can run nothing by itself.
func (c *Config) ordinary(dir string) bool {
	hooks, err := os.ReadDir(dir + "/hooks")
	if err != nil && !os.IsNotExist(err) {
		return false
	}
	for _, h := range hooks {
		if !strings.HasSuffix(h.Name(), ".sample") || !h.Type().IsRegular() {
			return false
		}
	}
	for _, name := range settings {
		if _, err := os.Lstat(dir + "/" + name); err == nil {
			return false
		}
	}
	if common, err := gitdir.ReadSmall(dir + "/commondir"); !os.IsNotExist(err) && (err != nil || common != "../..\n" || path.Base(path.Dir(dir)) != "worktrees") {
		return false
	}
	for _, name := range []string{"config", "config.worktree"} {
		text, err := gitdir.ReadPlain(dir+"/"+name, maxVetted)
		if err != nil && !os.IsNotExist(err) {
			return false
		}
		if err == nil && c.vetConfig(dir, text) != nil {
			return false
		}
	}
	return true
}
