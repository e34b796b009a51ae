package guard

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"carrel/internal/broker"
	"carrel/internal/gitconf"
	"carrel/internal/pathname"
	"carrel/internal/protect"

	"golang.org/x/sys/unix"
)

// birth decides a change of what git's own commands write in a git directory that was
// made inside; false for any other change.
func (d *Guard) birth(ch *broker.Change, at string) (broker.Verdict, bool) {
	dir := d.bornAround(at)
	switch {
	case dir == "":
	case path.Dir(at) == dir && probe(ch, at):
		return broker.Verdict{Allowed: true}, true
	case protect.InNewRepository(at[len(dir)+1:], d.folds(at)):
		return d.vetted(ch, at), true
	}
	return broker.Verdict{}, false
}

// vetted decides a change of a name in a git directory that is made inside, by what the
// file would then hold.
func (d *Guard) vetted(ch *broker.Change, at string) broker.Verdict {
	name := path.Base(at)
	if d.folds(at) {
		name = strings.ToLower(name)
	}
	rule, _ := protect.Repository(name, false)
	refused := refusal(at, "protected name: "+rule, "default", at)
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
	v.Allowed, v.Vet = true, func(before, after []byte) error { return d.vet(at, name, before, after) }
	return v
}

// vet judges what a file of a git directory that is made inside would hold, in place of
// what it held before.
func (d *Guard) vet(at, name string, before, text []byte) error {
	dir := path.Dir(at)
	switch name {
	case "config", "config.worktree":
		if err := d.c.vetConfig(dir, text); err != nil || name != "config" {
			return err
		}
		if rereads(d, dir, before, text) && len(indexesBelow(dir)) > 0 {
			return errHash
		}
		return indexAs(dir, hashBy(text), d.c.Restoring)
	case "gitdir": // "worktree repair" writes there
		if to := strings.TrimRight(string(text), "\n"); to != "" && !slices.ContainsFunc(d.c.Roots, func(r string) bool { return pathname.Within(path.Clean(to), r) }) {
			return fmt.Errorf("%q is no place of the project", to)
		}
		if link := d.c.linkTo(path.Clean(strings.TrimRight(string(text), "\n"))); link != "" {
			return fmt.Errorf("%q is a link", link)
		}
		return nil
	}
	if to := strings.TrimRight(string(text), "\n"); to != "" && (to != "../.." || path.Base(path.Dir(dir)) != "worktrees") {
		return fmt.Errorf("git would take its configuration from %q; that of a worktree is in ../.. of it", to)
	}
	return indexAs(dir, hashIn(path.Dir(path.Dir(dir))), d.c.Restoring)
}

// probe says whether a change is the symlink by which git init finds out
// whether there are symlinks: tXXXXXX, to a name without meaning.
func probe(ch *broker.Change, at string) bool {
	base := path.Base(at)
	return ch.Op == broker.OpSymlink && ch.Text == "testing" && len(base) == 7 && base[0] == 't'
}

// piece is what a path is of a git directory that does not have the name of one.
type piece struct {
	rule      string
	level     protect.Level
	piece     bool // it may be the last piece of one: to be decided while no other change is made
	completes bool // it is
}

// unnamed judges a path in a git directory that does not have the name of one.
// One that was there at the start is protected like any other. One made inside
// is known when its last piece comes: that is what knows repositories that
// were made bit by bit, or broken for a while. What it holds by then is vetted, while
// no other change is made.
func (d *Guard) unnamed(ch *broker.Change, at string) (u piece) {
	rel := d.c.relative(at)
	root := strings.TrimSuffix(at[:len(at)-len(rel)], "/")
	for _, dir := range protect.Within(rel, d.folds(at)) {
		full := path.Join(root, dir)
		name := at[len(full)+1:]
		d.mu.Lock()
		born, room := d.born[full], len(d.born) < MaxListed
		d.mu.Unlock()
		switch {
		case protect.BareRepository(holds(full, "")), born && !(makes(ch) && completing(full, name)):
			if r, ok := protect.Renamed(".git/"+name, d.folds(at)); ok && carries(ch, at) {
				u.rule, u.level = r, protect.Protected
				return u
			}
			if r, l := protect.Repository(name, d.folds(at)); l > u.level {
				u.rule, u.level = r, l
			}
		case !makes(ch) || d.c.Exactly: // an undo brings back what was there
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
func (c *Config) vetConfig(dir string, text []byte) error {
	return gitconf.VetNew(text, func(tree string) bool { return c.treeOf(dir, tree) }, true)
}

// treeOf says whether a working tree, as written, may be that of a git directory: one of a
// submodule, in the working tree of the repository around it, with no link on the way.
func (c *Config) treeOf(dir, tree string) bool {
	around := ""
	for at := dir; len(at) > 1; at = path.Dir(at) {
		if path.Base(at) == ".git" {
			around = path.Dir(at)
		}
	}
	to := path.Join(dir, tree)
	if c.Git.Dir != c.Git.Common && pathname.Within(dir, c.Git.Dir) {
		around = c.Project
	}
	if around == "" || c.leads(tree, dir) || c.linkTo(to) != "" || !strings.Contains(dir, "/modules/") || !pathname.Within(to, around) || to == around {
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
func (d *Guard) tame(dir, without string) error {
	at, err := unix.Openat2(unix.AT_FDCWD, dir, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return err
	}
	defer unix.Close(at)
	if !isThere(dir+"/config") && !linked(dir) && d.hashOf(dir) != gitconf.SHA1 && len(indexesBelow(dir)) > 0 {
		return errHash // from now on it is read as without a configuration
	}
	for _, name := range []string{"config", "config.worktree", "commondir"} {
		if name == without {
			continue
		}
		text, err := unshared(at, name, maxVetted)
		if err == nil {
			err = d.vet(dir+"/"+name, name, text, text)
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
	for _, name := range settings {
		var st unix.Stat_t
		if err := unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != unix.ENOENT && err != unix.ENOTDIR {
			return errors.New(name + " is there")
		}
	}
	if err := d.indexedIn(dir, dir); err != nil {
		return err
	}
	return d.plain(at, dir)
}

// settings are files of a git directory that its own commands do not make.
var settings = []string{"info/attributes", "lazygit.yml", "glab-cli/config.yml"}

// plain looks for what is neither file nor directory: git would write where a link leads,
// and wait for who writes to a FIFO. Files by which git writes elsewhere are judged.
func (d *Guard) plain(dir int, at string) error {
	why := errors.New("it is neither file nor directory")
	hit, err := Below(dir, ".", Pair{Name: "."}, func(*Pair) bool { return true }, func(p *Pair) bool {
		var st unix.Stat_t
		if unix.Fstatat(dir, p.Name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			return true
		}
		if st.Mode&unix.S_IFMT != unix.S_IFREG {
			return st.Mode&unix.S_IFMT != unix.S_IFDIR
		}
		if !ofReference(strings.TrimPrefix(p.Name, "./")) && d.waits(path.Join(at, p.Name), at) {
			why = errors.New("git would run it")
			return true
		}
		j := d.judge(path.Join(at, p.Name))
		if j.vet == nil {
			return false
		}
		text, err := unshared(dir, p.Name, j.most)
		if err == nil {
			err = j.vet(nil, text)
		}
		if err != nil {
			why = err
		}
		return err != nil
	})
	if err == nil && hit != nil {
		err = fmt.Errorf("%s: %w", strings.TrimPrefix(hit.Name, "./"), why)
	}
	return err
}

// unshared reads a file of most bytes at most that no process can change any more by another name or by a
// descriptor.
func unshared(dir int, name string, most int64) ([]byte, error) {
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
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
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
