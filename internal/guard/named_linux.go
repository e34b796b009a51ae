package guard

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"carrel/internal/broker"
	"carrel/internal/gitconf"
	"carrel/internal/gitdir"
	"carrel/internal/pathname"
	"carrel/internal/policy"

	"golang.org/x/sys/unix"
)

// maxNestedDirs bounds the directories that are remembered with what their
// repositories name.
const maxNestedDirs = 100_000

// namedTargets are what git's configuration names: that of the start, and that
// of repositories below the project, which is read when something in them first
// changes. What a run makes itself is vetted and names nothing.
type namedTargets struct {
	start  []gitconf.Target
	own    string // the git directory that start is of
	mu     sync.Mutex
	nested map[string][]gitconf.Target // by the directory: those of all repositories around it
	judged map[string][]gitconf.Target // by a directory of which a .git file was judged
}

// target finds a target that a change would make, replace or bring to its place, and the
// rule of it.
func (d *facts) target(ch *broker.Change, at string) (*policy.Rule, *gitconf.Target) {
	if ch.Op == broker.OpRename && ch.Kind == broker.KindDir && at == ch.To || ch.Op == broker.OpExchange {
		d.named.forget()
	}
	for i := range d.named.start {
		if t := &d.named.start[i]; reaches(ch, at, t) {
			r := RuleOf(t, at)
			return &r, t
		}
	}
	list := d.named.of(path.Dir(at))
	for i := range list {
		if t := &list[i]; reaches(ch, at, t) && !d.c.Configs(t.Path) && !(removes(ch) && d.Removable(at)) {
			r := RuleOf(t, at)
			return &r, t
		}
	}
	return nil, nil
}

// of reads what the repositories around a directory name, its own first.
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
		list = slices.Concat(TargetsOf(dir, n.own), n.judged[dir], list)
		n.nested[strings.Clone(dir)] = list
	}
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
		if t.Tree && !t.Near || runsIn(at[:min(i, len(at))], at) {
			return true
		}
	}
	parts := strings.Split(t.Rest, "/")
	for n := 1; (t.Tree || t.Near) && n < len(parts); n++ {
		head := "/" + strings.ToLower(strings.Join(parts[:n], "/")) + "/"
		if strings.HasSuffix(low, head) && (!t.Near || runsIn(at[:min(len(low)-len(head), len(at))], at)) && brings(ch, at, strings.Join(parts[n:], "/")) {
			return true
		}
	}
	return false
}

// isTree says whether a directory is a working tree.
func isTree(dir string) bool { return isThere(dir + "/.git") }

// runsIn says whether git may run programs by a path that starts in a directory: in a
// working tree, and anywhere in a git directory, as git stays where it was started there.
func runsIn(dir, to string) bool {
	if isTree(dir) {
		return true
	}
	for at := dir; len(at) > 1; at = path.Dir(at) {
		if path.Base(at) == ".git" || gitDirectory(at) {
			below := func(of string) string { return strings.TrimPrefix(of[len(at):], "/") }
			return below(dir) == "" || !ofReference(below(to))
		}
	}
	return false
}

// ofReference says whether a path in a git directory is one where references are, or their
// logs: their names are as those of any file, and git has to write them.
func ofReference(rel string) bool {
	return pathname.Within(rel, "refs") || pathname.Within(rel, "logs/refs") || rel == "logs/HEAD" || rel == "logs"
}

// waits says whether a file is one that git would run by its name, as the user's own
// configuration says, if there were a repository; in is where that would begin. What the
// project has under the same name may be there.
func (d *facts) waits(at, in string) bool {
	return slices.ContainsFunc(d.named.start, func(t gitconf.Target) bool {
		dir, ok := strings.CutSuffix(at, "/"+t.Rest)
		return ok && t.Rest != "" && !t.Near && pathname.Within(dir, in) && !sameText(at, d.c.treeOfOwn()+"/"+t.Rest)
	})
}

// waitsIn gives such a file that starts in a directory itself, "" for none.
func (d *facts) waitsIn(dir string) string {
	for i := range d.named.start {
		at := dir + "/" + d.named.start[i].Rest
		if st, err := os.Lstat(at); err == nil && !st.IsDir() && d.waits(at, dir) {
			return at
		}
	}
	return ""
}

// copies decides a change of a target in another working tree of the repository, false
// where it is refused: what is there may go, or become what the same name of the project
// is, which git checks out.
func (c *Config) copies(ch *broker.Change, at string, t *gitconf.Target) (broker.Verdict, bool) {
	i := strings.Index(strings.ToLower(at)+"/", "/"+strings.ToLower(t.Rest)+"/")
	if t.Path != "" || !t.Near || i < 0 || at[:i] == c.treeOfOwn() {
		return broker.Verdict{}, false
	}
	like := c.treeOfOwn() + at[i:]
	st, err := os.Lstat(like)
	switch ch.Op {
	case broker.OpUnlink, broker.OpRmdir:
		return broker.Verdict{Allowed: true}, true
	case broker.OpMkdir:
		return broker.Verdict{Allowed: true}, err == nil && st.IsDir()
	case broker.OpChmod, broker.OpUtimes:
		return broker.Verdict{Allowed: true}, err == nil
	case broker.OpCreate, broker.OpOpen, broker.OpRename:
		if err != nil || !st.Mode().IsRegular() || ch.Op == broker.OpRename && (at != ch.To || ch.Kind != broker.KindFile) {
			break
		}
		v := refusal(at, RuleOf(t, at).Source.Text, "default", at)
		v.Allowed, v.Vet = true, func(_, after []byte) error {
			if text, err := gitdir.Read(like, maxVetted); err != nil || len(after) > 0 && string(text) != string(after) {
				return fmt.Errorf("it would not be what %s is", like)
			}
			return nil
		}
		return v, true
	}
	return broker.Verdict{}, false
}

// strange gives something in a directory that git would run if that became a working tree
// of the repository, and that is not what the project has there; "" for nothing.
func (d *facts) strange(dir string) string {
	if dir == d.c.treeOfOwn() {
		return ""
	}
	for i := range d.named.start {
		t := &d.named.start[i]
		if t.Rest == "" {
			continue
		}
		found := ""
		left := MaxLinkEntries
		_ = filepath.WalkDir(dir+"/"+t.Rest, func(at string, e fs.DirEntry, err error) error {
			if gitdir.IsMissing(err) && at == dir+"/"+t.Rest {
				return nil
			}
			if left--; left < 0 || err != nil || !e.IsDir() && !sameText(at, d.c.treeOfOwn()+at[len(dir):]) {
				found = at
				return filepath.SkipAll
			}
			return nil
		})
		if found != "" {
			return found
		}
	}
	return ""
}

// sameText says whether two small files hold the same.
func sameText(a, b string) bool {
	x, err := gitdir.Read(a, maxVetted)
	y, e := gitdir.Read(b, maxVetted)
	return err == nil && e == nil && len(x) < maxVetted && string(x) == string(y)
}

// madeSince says whether a directory was made after the run began, false where the file
// system keeps no such time.
func (d *facts) madeSince(dir string) bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, dir, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st)
	return err == nil && st.Mask&unix.STATX_BTIME != 0 && time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)).After(d.began)
}

// withinFolded is within for names that differ in case only.
func withinFolded(at, dir string) bool {
	return len(at) >= len(dir) && strings.EqualFold(at[:len(dir)], dir) && (len(at) == len(dir) || at[len(dir)] == '/')
}
