package workspace

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"carrel/internal/broker"
	"carrel/internal/gitconf"
	"carrel/internal/protect"

	"golang.org/x/sys/unix"
)

// births are what a run has made that could make somebody run code later.
type births struct {
	mu     sync.Mutex
	born   map[string]bool // git directories made inside, which may get what init writes
	listed map[string]bool // names made inside that could run code later
	more   bool            // there were more than maxListed
}

// maxListed bounds what one run lists, and the git directories born in it.
const maxListed = 1000

// birth decides a change of what git's own commands write in a git directory that was
// made inside; false for any other change.
func (d *decider) birth(ch *broker.Change, at string) (broker.Verdict, bool) {
	dir := d.bornAround(at)
	switch {
	case dir == "":
	case path.Dir(at) == dir && probe(ch, at):
		return broker.Verdict{Allowed: true}, true
	case protect.Birth(at[len(dir)+1:], d.folds(at)):
		return d.vetted(ch, at), true
	}
	return broker.Verdict{}, false
}

// brings says why a link, or a directory from elsewhere, may not come into a git
// directory: git outside would write where the link leads. "" for all others.
func (d *decider) brings(ch *broker.Change, at string) string {
	if !carries(ch, at) || d.restoring {
		return ""
	}
	dir := d.gitAround(at)
	if dir == "" || probe(ch, at) && path.Dir(at) == d.bornAround(at) {
		return ""
	}
	moved := ch.Kind
	if ch.Op == broker.OpExchange && at == ch.Path {
		moved = ch.Over
	}
	from := ch.Path
	if at == ch.Path {
		from = ch.To
	}
	switch {
	case ch.Op == broker.OpSymlink, moved == broker.KindSymlink:
		return "git would write where a link leads"
	case moved == broker.KindDir && !within(from, dir):
		return "git would write where links in a directory lead"
	}
	return ""
}

// takes says why a directory may not be moved: what it says of places relative to its own
// would lead elsewhere. "" for all others.
func (d *decider) takes(ch *broker.Change, at string) string {
	kind, to := ch.Kind, ch.To
	if ch.Op == broker.OpExchange && at == ch.To {
		kind, to = ch.Over, ch.Path
	}
	if d.restoring || kind != broker.KindDir || ch.Op != broker.OpExchange && (ch.Op != broker.OpRename || at != ch.Path) {
		return ""
	}
	if dir := d.gitAround(at); dir != "" && !within(to, dir) {
		return "a directory of it stays in it"
	}
	if holds(at, "")("commondir") {
		return "the repository that a worktree belongs to is where it says"
	}
	entries, err := os.ReadDir(at)
	if path.Base(at) != "worktrees" || path.Base(to) == "worktrees" && errors.Is(err, unix.ENOENT) {
		return ""
	}
	if err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return holds(at+"/"+e.Name(), "")("commondir") }) {
		return "the repository that worktrees belong to is where they say"
	}
	return ""
}

// gitAround gives the outermost git directory that a path lies in, "" for none.
func (d *decider) gitAround(at string) string {
	fold := d.folds(at)
	named, bare := "", ""
	for dir := path.Dir(at); len(dir) > 1; dir = path.Dir(dir) {
		if rule, ok := protect.Component(path.Base(dir), fold); ok && strings.HasPrefix(rule, ".git:") {
			named = dir
		}
	}
	if named != "" {
		return named
	}
	for dir := path.Dir(at); len(dir) > 1 && slices.ContainsFunc(d.roots, func(r string) bool { return within(dir, r) }); dir = path.Dir(dir) {
		if d.bears(dir) || protect.BareRepository(holds(dir, "")) {
			bare = dir
		}
	}
	return bare
}

// bornAround gives the innermost git directory made inside that a path lies in, "" for none.
func (d *decider) bornAround(at string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for dir := path.Dir(at); len(d.born) > 0 && len(dir) > 1; dir = path.Dir(dir) {
		if d.born[dir] {
			return dir
		}
	}
	return ""
}

// vetted decides a change of a name in a git directory that is made inside, by what the
// file would then hold.
func (d *decider) vetted(ch *broker.Change, at string) broker.Verdict {
	name := path.Base(at)
	if d.folds(at) {
		name = strings.ToLower(name)
	}
	rule, _ := protect.Repository(name, false)
	refused := d.refusal(at, "protected name: "+rule, "default", at)
	switch ch.Op {
	case broker.OpUnlink, broker.OpRmdir, broker.OpChmod, broker.OpChown, broker.OpUtimes, broker.OpSetxattr, broker.OpIoctl:
		return broker.Verdict{Allowed: true}
	case broker.OpRename:
		if at == ch.Path {
			return broker.Verdict{Allowed: true}
		}
	}
	if name == "hooks" {
		return broker.Verdict{Allowed: ch.Op == broker.OpMkdir, Rule: refused.Rule, Source: refused.Source, Hint: refused.Hint}
	}
	switch ch.Op {
	case broker.OpOpen, broker.OpCreate:
	case broker.OpRename:
		if ch.Kind != broker.KindFile {
			return refused
		}
	default:
		return refused
	}
	v := refused
	if v.Allowed = true; name != "gitdir" {
		v.Vet = func(_, after []byte) error { return d.vet(at, name, after) }
	}
	return v
}

// vet judges what a file of a git directory that is made inside would hold.
func (d *decider) vet(at, name string, text []byte) error {
	dir := path.Dir(at)
	if name != "commondir" {
		return d.vetConfig(dir, text)
	}
	if to := strings.TrimRight(string(text), "\n"); to != "" && (to != "../.." || path.Base(path.Dir(dir)) != "worktrees") {
		return fmt.Errorf("git would take its configuration from %q; that of a worktree is in ../.. of it", to)
	}
	return nil
}

// probe says whether a change is the symlink by which git init finds out
// whether there are symlinks: tXXXXXX, to a name that nobody gives meaning.
func probe(ch *broker.Change, at string) bool {
	base := path.Base(at)
	return ch.Op == broker.OpSymlink && ch.Text == "testing" && len(base) == 7 && base[0] == 't'
}

// newGitDir says whether a directory of this name is one that git makes: a
// repository, a worktree's or a submodule's part of one.
func newGitDir(at string) bool {
	dir, base := path.Split(at)
	if base == ".git" || strings.HasSuffix(dir, "/.git/worktrees/") {
		return true
	}
	_, module, ok := strings.Cut(at, "/.git/modules/")
	return ok && !slices.ContainsFunc(strings.Split(module, "/"), func(part string) bool {
		return slices.Contains([]string{"objects", "refs", "logs", "hooks", "info", "branches", "lfs"}, part)
	})
}

// piece is what a path is of a git directory that does not have the name of one.
type piece struct {
	rule      string
	level     protect.Level
	piece     bool // it may be the last piece of one: to be decided while nobody else acts
	completes bool // it is
}

// unnamed judges a path in a git directory that does not have the name of one.
// One that was there at the start is protected like any other. One made inside
// is known when its last piece comes: that is what knows repositories that
// were made bit by bit, or broken for a while. What it holds by then is vetted, while
// nobody else changes anything.
func (d *decider) unnamed(ch *broker.Change, at string) (u piece) {
	rel := d.relative(at)
	root := strings.TrimSuffix(at[:len(at)-len(rel)], "/")
	for _, dir := range protect.Within(rel, d.folds(at)) {
		full := path.Join(root, dir)
		name := at[len(full)+1:]
		d.mu.Lock()
		born, room := d.born[full], len(d.born) < maxListed
		d.mu.Unlock()
		switch {
		case born || protect.BareRepository(holds(full, "")):
			if r, ok := protect.Renamed(".git/"+name, d.folds(at)); ok && carries(ch, at) {
				u.rule, u.level = r, protect.Protected
				return u
			}
			if r, l := protect.Repository(name, d.folds(at)); l > u.level {
				u.rule, u.level = r, l
			}
		case !makes(ch) || d.exactly: // an undo brings back what was there
		case completing(full, name):
			u.piece, u.completes = true, true
			err := d.tame(full, name)
			if !room {
				err = errors.New("one more than can be told at the end of a run")
			}
			if err != nil {
				u.rule, u.level = "a git directory would be made of "+path.Base(full)+": "+err.Error(), protect.Protected
				return u
			}
		case !strings.Contains(name, "/"):
			u.piece = true
		}
	}
	return u
}

// holds looks for names in a directory; without is taken for missing. What cannot be
// looked at is there.
func holds(dir, without string) func(string) bool {
	return func(name string) bool {
		if name == without {
			return false
		}
		_, err := os.Lstat(dir + "/" + name)
		return err == nil || !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR)
	}
}

// completing says whether a directory is a git directory with this name in it,
// and none without.
func completing(dir, piece string) bool {
	has := holds(dir, piece)
	return !protect.BareRepository(has) && protect.BareRepository(func(name string) bool { return name == piece || has(name) })
}

// vetConfig judges the configuration of a git directory that is made inside.
func (d *decider) vetConfig(dir string, text []byte) error {
	return gitconf.VetBirth(text, func(tree string) bool { return d.treeOf(dir, tree) }, true)
}

// treeOf says whether a working tree, as written, may be that of a git directory: one of a
// submodule, in the working tree of the repository around it, with no link on the way.
func (d *decider) treeOf(dir, tree string) bool {
	around := ""
	for at := dir; len(at) > 1; at = path.Dir(at) {
		if path.Base(at) == ".git" {
			around = path.Dir(at)
		}
	}
	to := path.Join(dir, tree)
	if around == "" || !strings.Contains(dir[len(around):], "/modules/") || !within(to, around) || to == around {
		return false
	}
	for at := to; at != around; at = path.Dir(at) {
		if st, err := os.Lstat(at); err == nil && !st.IsDir() {
			return false
		}
	}
	return true
}

// tame says what in a directory could run something once it is a git directory, nil for
// nothing. What without names is left out: that is about to be made.
func (d *decider) tame(dir, without string) error {
	at, err := unix.Openat2(unix.AT_FDCWD, dir, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return err
	}
	defer unix.Close(at)
	for _, name := range []string{"config", "config.worktree", "commondir"} {
		if name == without {
			continue
		}
		text, err := unshared(at, name)
		if err == nil {
			err = d.vet(dir+"/"+name, name, text)
		}
		if err != nil && err != unix.ENOENT {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, name := range []string{"hooks", "remotes", "branches"} {
		if err := vacant(at, name); err != nil && err != unix.ENOENT {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	var st unix.Stat_t
	if err := unix.Fstatat(at, "info/attributes", &st, unix.AT_SYMLINK_NOFOLLOW); err != unix.ENOENT && err != unix.ENOTDIR {
		return errors.New("info/attributes is there")
	}
	return noLinks(at)
}

// noLinks looks for a link in a directory, through which git would write.
func noLinks(dir int) error {
	hit, err := below(dir, ".", pair{name: "."}, func(p *pair) bool {
		return p.name != "./objects" // what git writes there is no text
	}, func(p *pair) bool {
		var st unix.Stat_t
		return unix.Fstatat(dir, p.name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Mode&unix.S_IFMT == unix.S_IFLNK
	})
	if err == nil && hit != nil {
		err = fmt.Errorf("%s is a link, and git would write where it leads", strings.TrimPrefix(hit.name, "./"))
	}
	return err
}

// unshared reads a small file that nobody can change any more by another name or by a
// descriptor.
func unshared(dir int, name string) ([]byte, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	var st unix.Stat_t
	switch err := unix.Fstat(fd, &st); {
	case err != nil:
		return nil, err
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, errors.New("it is no file")
	case st.Nlink != 1:
		return nil, errors.New("it has more names than this")
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK); err == unix.EAGAIN {
		return nil, errors.New("it is open for writing")
	} else if err != nil {
		return nil, fmt.Errorf("whether it is open for writing cannot be known: %w", err)
	}
	defer unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
	text, err := io.ReadAll(io.LimitReader(f, maxVetted+1))
	if err == nil && len(text) > maxVetted {
		err = errors.New("it is too long to be looked at")
	}
	return text, err
}

// maxVetted bounds the files that are read to vet a git directory, in bytes.
const maxVetted = 1 << 20

// vacant says what a directory holds that git would take something from.
func vacant(dir int, name string) error {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	entries, err := f.ReadDir(maxVacant)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".sample") || !e.Type().IsRegular() {
			return fmt.Errorf("%q is in it", e.Name())
		}
	}
	if len(entries) == maxVacant {
		return errors.New("there is too much in it")
	}
	if err == io.EOF {
		err = nil
	}
	return err
}

// maxVacant bounds how many samples of hooks are looked at.
const maxVacant = 1000

func makes(ch *broker.Change) bool {
	switch ch.Op {
	case broker.OpCreate, broker.OpMkdir, broker.OpMknod, broker.OpSymlink, broker.OpLink, broker.OpRename, broker.OpExchange:
		return true
	}
	return false
}

// made takes note of a change that has been made.
func (d *decider) made(ch *broker.Change) {
	d.worktree.changed(ch)
	switch {
	case ch.Op == broker.OpMkdir && newGitDir(ch.Path):
		d.bear(ch.Path)
	case ch.Op == broker.OpRmdir:
		d.mu.Lock()
		delete(d.born, ch.Path)
		d.mu.Unlock()
	case ch.Op == broker.OpRename && ch.Kind == broker.KindDir, ch.Op == broker.OpExchange:
		d.moved(ch.Path, ch.To, ch.Op == broker.OpExchange)
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
func (d *decider) complete(at string) {
	rel := d.relative(at)
	root := strings.TrimSuffix(at[:len(at)-len(rel)], "/")
	for _, dir := range protect.Within(rel, d.folds(at)) {
		full := path.Join(root, dir)
		if piece := at[len(full)+1:]; !strings.Contains(piece, "/") && protect.BareRepository(holds(full, "")) && !protect.BareRepository(holds(full, piece)) {
			d.bear(full)
		}
	}
}

func (d *decider) bears(dir string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.born[dir]
}

func (d *decider) bear(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.born) < maxListed {
		d.born[strings.Clone(dir)] = true
	}
	d.remember(dir)
}

// moved renames what is known below a directory.
func (d *decider) moved(from, to string, exchange bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range []map[string]bool{d.born, d.listed} {
		var added []string
		for at := range m {
			switch {
			case within(at, from):
				delete(m, at)
				added = append(added, to+at[len(from):])
			case within(at, to):
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

// list remembers what was made inside and could run code later. A ".git" or a
// .gitmodules that is written over can lead elsewhere than before: it counts as
// made.
func (d *decider) list(ch *broker.Change, at string) {
	if ch.Asked {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	made := at == ch.Path && ch.Kind == broker.KindNone || at == ch.To && ch.Over == broker.KindNone
	if base := path.Base(at); made || (base == ".git" || base == ".gitmodules") && slices.Contains([]string{broker.OpOpen, broker.OpRename, broker.OpExchange}, ch.Op) {
		d.remember(at)
	}
}

func (d *decider) remember(at string) {
	if d.listed[at] {
		return
	}
	if d.more = d.more || len(d.listed) >= maxListed; !d.more {
		d.listed[strings.Clone(at)] = true
	}
}

// names are those to look at before anything outside acts on them: what was made
// inside, is still there, and is not as git's own commands leave it. Repositories
// come first; a directory stands for what is in it. They are looked at when
// nothing inside is alive any more.
func (d *decider) names() []string {
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
		names[i] = strings.TrimPrefix(at, d.project+"/")
	}
	return names
}

// usual says whether something made inside is what git's own commands make: a
// repository that can run nothing, or a pointer to one in the project's own.
func (d *decider) usual(at string) bool {
	if d.born[at] {
		return d.ordinary(at)
	}
	if path.Base(at) != ".git" {
		return false
	}
	text, err := readSmall(at)
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
	if err != nil || !st.IsDir() || d.git == "" || !strings.HasPrefix(to, d.git+"/modules/") && !strings.HasPrefix(to, d.git+"/worktrees/") {
		return false
	}
	return !d.born[to] || d.ordinary(to) // one that was there is held
}

// expected says whether a protected name that is there, and was not, is a piece
// of a repository made inside that can run nothing.
func (d *decider) expected(at string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for dir := path.Dir(at); len(dir) > 1; dir = path.Dir(dir) {
		if d.born[dir] {
			return d.ordinary(dir)
		}
	}
	return false
}

// ordinary says whether a git directory can run nothing by itself.
func (d *decider) ordinary(dir string) bool {
	hooks, err := os.ReadDir(dir + "/hooks")
	if err != nil && !os.IsNotExist(err) {
		return false
	}
	for _, h := range hooks {
		if !strings.HasSuffix(h.Name(), ".sample") || !h.Type().IsRegular() {
			return false
		}
	}
	if _, err := os.Lstat(dir + "/info/attributes"); err == nil {
		return false
	}
	if common, err := readSmall(dir + "/commondir"); !os.IsNotExist(err) && (err != nil || common != "../..\n" || path.Dir(dir) != d.git+"/worktrees") {
		return false
	}
	for _, name := range []string{"config", "config.worktree"} {
		text, err := readWhole(dir + "/" + name)
		if err != nil && !os.IsNotExist(err) {
			return false
		}
		if err == nil && d.vetConfig(dir, text) != nil {
			return false
		}
	}
	return true
}

// readWhole reads a small regular file that is no link.
func readWhole(at string) ([]byte, error) {
	const most = 1 << 20
	st, err := os.Lstat(at)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > most {
		return nil, os.ErrInvalid
	}
	return os.ReadFile(at)
}
