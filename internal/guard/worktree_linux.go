package guard

import (
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"carrel/internal/broker"
	"carrel/internal/gitconf"
	"carrel/internal/gitdir"
	"carrel/internal/pathname"
)

// worktree is what a run in a linked worktree may change of the repository that it shares
// with others: objects, its own git directory, its own branch, references that it makes,
// and those that a fetch writes. What the main checkout or another worktree stands on is
// theirs.
type worktree struct {
	common string          // the shared git directory
	own    string          // the worktree's part of it
	branch string          // that it is on, as a reference; "" for none
	taken  map[string]bool // what others are on, whether it is there or not

	mu    sync.Mutex
	made  map[string]bool   // references made by the run
	refs  map[string]string // what packed-refs says, as it was when it had stamp
	dirs  map[string]bool   // those that its references are in
	stamp fileStamp
}

type fileStamp struct {
	modified, size int64
}

// newWorktree gives nil where the project has a repository of its own.
func newWorktree(git gitdir.Dirs) *worktree {
	if git.Common == "" || git.Dir == git.Common {
		return nil
	}
	t := &worktree{common: git.Common, own: git.Dir, made: make(map[string]bool)}
	t.taken = make(map[string]bool)
	if ref := headOf(git.Dir); strings.HasPrefix(ref, "refs/heads/") {
		t.branch = ref
	}
	others, _ := os.ReadDir(git.Common + "/worktrees")
	var heads []string
	// A bare repository is on no branch: its HEAD only names the one that a clone begins with.
	config, _ := gitdir.Read(git.Common+"/config", maxVetted)
	bare := isBare(config)
	if !bare {
		heads = append(heads, git.Common)
	}
	for _, e := range others {
		if dir := git.Common + "/worktrees/" + e.Name(); dir != git.Dir {
			heads = append(heads, dir)
		}
	}
	for _, dir := range heads {
		t.taken[headOf(dir)] = true
	}
	if t.taken[t.branch] {
		t.branch = "" // what an earlier run made its own is another worktree's all the same
	}
	if bare {
		t.taken[headOf(git.Common)] = true // it is not made either, where it is not there
	}
	return t
}

// headOf gives the reference that a git directory is on, "" for none.
func headOf(dir string) string {
	text, err := gitdir.ReadSmall(dir + "/HEAD")
	if err != nil {
		return ""
	}
	ref, ok := strings.CutPrefix(strings.TrimSpace(text), "ref: ")
	if !ok {
		return ""
	}
	return ref
}

// foreign says what a path of the shared git directory belongs to, "" where the run may
// change it. t may be nil. born says that a directory was made by the run.
func (t *worktree) foreign(ch *broker.Change, at string, born func(dir string) bool) string {
	if t == nil || !pathname.Within(at, t.common) || at == t.common || pathname.Within(at, t.own) {
		return ""
	}
	rel := at[len(t.common)+1:]
	first, rest, deeper := strings.Cut(rel, "/")
	if (ch.Op == broker.OpRename || ch.Op == broker.OpExchange) && (ch.Kind == broker.KindDir || ch.Over == broker.KindDir) && first != "worktrees" {
		return "the main checkout's" // what is in a directory moves along
	}
	directory := ch.Op == broker.OpMkdir || ch.Op == broker.OpRmdir
	switch first {
	case "objects":
		return t.object(ch, at, rest)
	case "lfs", "rr-cache", "reftable":
		return ""
	case "worktrees":
		entry, _, _ := strings.Cut(rest, "/")
		if !deeper && directory || ch.Op == broker.OpMkdir && rest == entry || entry != "" && born(t.common+"/worktrees/"+entry) {
			return ""
		}
		return "another worktree's"
	case "logs":
		if ref, ok := strings.CutPrefix(rest, "refs/"); ok {
			return t.reference("refs/"+ref, directory)
		}
		if !deeper && directory || rest == "refs" && directory {
			return ""
		}
	case "refs":
		if !deeper {
			return ""
		}
		return t.reference(rel, directory)
	case "packed-refs":
		if ch.Op == broker.OpRename && at == ch.To {
			return "" // see packs
		}
	case "packed-refs.lock", "packed-refs.new", "gc.pid.lock", "config.lock":
		if !directory {
			return "" // it harms no other worktree, once it is gone
		}
	case "gc.pid", "config", "config.worktree", "hooks", "commondir", "gitdir":
		return "" // others decide on these, or they harm no other worktree
	}
	return "the main checkout's"
}

// object says what an object or a pack belongs to: to all, as soon as it has its name.
// What git makes first, under another, may go, and so may the run's own marks of packs to be
// kept. at is objects/rest.
func (t *worktree) object(ch *broker.Change, at, rest string) string {
	first, _, _ := strings.Cut(rest, "/")
	base := path.Base(rest)
	switch {
	case rest == "info/alternates", rest == "info/http-alternates":
		return "the main checkout's"
	case strings.HasPrefix(first, "tmp_objdir-"), strings.HasPrefix(first, "incoming-"):
		return ""
	case strings.HasPrefix(base, "tmp_"), strings.HasPrefix(base, ".tmp-"), path.Ext(base) == ".lock":
		return ""
	case first == "info", strings.HasPrefix(rest, "pack/multi-pack-index"): // derived from the others
		return ""
	}
	there := ch.Kind
	switch ch.Op {
	case broker.OpCreate, broker.OpMkdir, broker.OpRmdir, broker.OpUtimes:
		return ""
	case broker.OpLink:
		if at == ch.To {
			return ""
		}
		return "everybody's" // a second name would be written
	case broker.OpRename:
		if at == ch.To {
			there = ch.Over
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if there == broker.KindNone || path.Ext(base) == ".keep" && t.made["objects/"+rest] {
		return ""
	}
	return "everybody's"
}

// reference says what a reference belongs to, "" where the run may change it.
func (t *worktree) reference(ref string, directory bool) string {
	lock := strings.HasSuffix(ref, ".lock")
	ref = strings.TrimSuffix(ref, ".lock")
	t.mu.Lock()
	defer t.mu.Unlock()
	if directory && lock {
		return "in the way of a lock"
	}
	// Git takes one of refs/replace for an object in all worktrees; the others are those of
	// the main checkout alone (gitrepository-layout(5)).
	for _, whose := range []string{"refs/replace", "refs/bisect", "refs/worktree", "refs/rewritten"} {
		if pathname.Within(ref, whose) {
			return "the main checkout's"
		}
	}
	switch {
	case ref == "refs/heads", ref == "refs/tags": // empty where all are packed
		return "the main checkout's"
	case t.mine(ref):
		return ""
	case t.exists(ref):
		return "another branch's"
	case directory || ref == "refs/.tmp-renamed-log": // where "branch -m" has a log for a moment
		return ""
	case !isReference(ref):
		return "no name of a reference"
	}
	// Git has no branch x beside x/y: who has one could not move it.
	for dir := path.Dir(ref); dir != "refs" && dir != "."; dir = path.Dir(dir) {
		if t.exists(dir) && !t.mine(dir) {
			return "in the way of another branch"
		}
	}
	if t.dirs[ref] || t.shadows(ref) {
		return "in the way of another branch"
	}
	return ""
}

// shadows says whether git would take a new reference for what another is meant by, as it
// takes a tag "main" for a branch of that name (gitrevisions(7)).
func (t *worktree) shadows(ref string) bool {
	for i, kind := range []string{"refs/", "refs/tags/", "refs/heads/"} {
		short, ok := strings.CutPrefix(ref, kind)
		if !ok || kind == "refs/" && strings.Contains(short, "/") {
			continue
		}
		later := func(k string) bool { return t.exists(k+short) && (k == "refs/remotes/" || !t.mine(k+short)) }
		return short == "HEAD" || slices.ContainsFunc([]string{"refs/tags/", "refs/heads/", "refs/remotes/"}[i:], later)
	}
	return false
}

// isReference says whether git makes a reference of that name (git-check-ref-format(1)): of
// another it warns in all worktrees.
func isReference(ref string) bool {
	for part := range strings.SplitSeq(ref, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	odd := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("~^:?*[\\", r) }
	return !strings.Contains(ref, "..") && !strings.Contains(ref, "@{") && !strings.HasSuffix(ref, ".") && !strings.ContainsFunc(ref, odd)
}

func (t *worktree) mine(ref string) bool {
	return ref == t.branch || t.made[ref] || strings.HasPrefix(ref, "refs/remotes/")
}

// exists says whether a reference is there, loose or packed.
func (t *worktree) exists(ref string) bool {
	if st, err := os.Lstat(t.common + "/" + ref); t.taken[ref] || err == nil && !st.IsDir() {
		return true
	}
	at := t.common + "/packed-refs"
	st, err := os.Stat(at)
	if err != nil {
		return !os.IsNotExist(err)
	}
	if now := (fileStamp{st.ModTime().UnixNano(), st.Size()}); t.refs == nil || now != t.stamp {
		text, err := os.ReadFile(at)
		if err == nil {
			t.refs, err = packedRefs(text)
		}
		if err != nil {
			return true
		}
		t.stamp, t.dirs = now, make(map[string]bool)
		for ref := range t.refs {
			for dir := path.Dir(ref); !t.dirs[dir] && dir != "."; dir = path.Dir(dir) {
				t.dirs[dir] = true
			}
		}
	}
	return t.refs[ref] != ""
}

// packs judges a new file of packed references: of those that are not the run's it may
// say only what it has said before, or what the loose file says.
func (t *worktree) packs(before, after []byte) error {
	was, err := packedRefs(before)
	if err != nil {
		return err
	}
	is, err := packedRefs(after)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for ref, value := range is {
		if was[ref] == value || t.mine(ref) && !pathname.Within(ref, "refs/replace") {
			continue
		}
		hash, _, _ := strings.Cut(value, " ")
		if loose, err := gitdir.ReadSmall(t.common + "/" + ref); err != nil || strings.TrimSpace(loose) != hash {
			return fmt.Errorf("it would move %s, which is not this worktree's", ref)
		}
	}
	for ref := range was {
		if is[ref] == "" && !t.mine(ref) {
			return fmt.Errorf("it would remove %s, which is not this worktree's", ref)
		}
	}
	return nil
}

// vetConfig gives what judges a change of a configuration that check judges as well: what the
// shared one says to the other worktrees stays, but for the run's own branches. t may be nil.
func (t *worktree) vetConfig(at string, check func(before, after []byte) error) func(before, after []byte) error {
	if t == nil || at != t.common+"/config" {
		return check
	}
	return func(before, after []byte) error {
		if err := check(before, after); err != nil {
			return err
		}
		was, err := keysOf(before)
		if err != nil {
			return err
		}
		is, err := keysOf(after)
		if err != nil {
			return err
		}
		const each, bare, tree = "extensions\x00\x00worktreeconfig", "core\x00\x00bare", "core\x00\x00worktree"
		if is[each] != was[each] && (is[tree] != "" || is[bare] != "" && is[bare] != `"false"`) {
			return fmt.Errorf("linked worktree: with extensions.worktreeConfig what core.bare or core.worktree says here would hold for all")
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		all := maps.Clone(was)
		maps.Copy(all, is)
		for key := range all {
			branch, of := strings.CutPrefix(key, "branch\x00")
			branch, _, _ = strings.Cut(branch, "\x00")
			switch ref := "refs/heads/" + branch; {
			case is[key] == was[key] || of && t.mine(ref):
			case was[key] != "" || of && t.exists(ref):
				key = strings.ReplaceAll(key, "\x00", ".")
				return fmt.Errorf("linked worktree: %q is said to the other worktrees, too; a new key may be added, but for their branches", key)
			}
		}
		return nil
	}
}

// keysOf gives all that a configuration says of each key.
func keysOf(text []byte) (map[string]string, error) {
	entries, err := gitconf.Parse(text)
	keys := make(map[string]string)
	for _, e := range entries {
		keys[e.Section+"\x00"+e.Sub+"\x00"+e.Key] += fmt.Sprintf("%q", e.Value)
	}
	return keys, err
}

// packedRefs reads a file of packed references (gitrepository-layout(5)): of each its hash
// and what it peels to.
func packedRefs(text []byte) (map[string]string, error) {
	refs, last := make(map[string]string), ""
	for line := range strings.Lines(string(text)) {
		line, whole := strings.CutSuffix(line, "\n")
		hash, ref, ok := strings.Cut(line, " ")
		switch {
		case !whole:
			return nil, fmt.Errorf("packed references: the last line %q has no end", line)
		case strings.HasPrefix(line, "# pack-refs with: ") && len(refs) == 0:
		case strings.HasPrefix(line, "^") && last != "" && isHash(line[1:]) && !strings.Contains(refs[last], "^"):
			refs[last] += " " + line
		case !ok || ref <= last || !isHash(hash):
			return nil, fmt.Errorf("packed references: %q is nothing that git writes there", line)
		default:
			refs[ref], last = hash, ref
		}
	}
	return refs, nil
}

// isHash says whether a text is the name of an object.
func isHash(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && (len(s) == 40 || len(s) == 64)
}

// vetReference gives what judges a reference: in a linked worktree, a symbolic one moves
// no other reference either. t may be nil.
func (t *worktree) vetReference(at string) func(before, after []byte) error {
	return func(_, after []byte) error {
		err := gitconf.VetReference(after, strings.Contains(strings.ToLower(at), "/logs/"))
		name, symbolic := gitconf.Symbolic(after)
		if err != nil || !symbolic || t == nil || !pathname.Within(at, t.common) && !pathname.Within(at, t.own) {
			return err
		}
		head := at == t.own+"/HEAD" || path.Dir(path.Dir(at)) == t.common+"/worktrees" && path.Base(at) == "HEAD" // or of one made inside
		switch {
		case head && t.taken[name]:
			return fmt.Errorf("another worktree is on %s", name)
		case head, at == t.own+"/NOTES_MERGE_REF", pathname.Within(at, t.common+"/refs/remotes"), pathname.Within(at, t.common+"/modules"), pathname.Within(at, t.own+"/modules"):
			return nil
		}
		return fmt.Errorf("git would move %s instead of it", name)
	}
}

// changed takes note of references that the run has made.
func (t *worktree) changed(ch *broker.Change) {
	if t == nil || ch.Op != broker.OpRename && ch.Op != broker.OpCreate {
		return
	}
	at := ch.Path
	if ch.Op == broker.OpRename {
		at = ch.To
	}
	keep := path.Ext(at) == ".keep" && pathname.Within(at, t.common+"/objects/pack")
	if (!pathname.Within(at, t.common+"/refs") || path.Ext(at) == ".lock") && !keep {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.made[strings.Clone(at[len(t.common)+1:])] = true
}

// packed says whether a path is that of the packed references. t may be nil.
func (t *worktree) packed(at string) bool { return t != nil && at == t.common+"/packed-refs" }
