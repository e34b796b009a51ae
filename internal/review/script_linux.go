package review

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"carrel/internal/review/replay"

	"golang.org/x/sys/unix"
)

// The phases of a tree. Nothing of git's refers to an object before it is there, and no object
// goes while something may refer to it.
const (
	objects = iota // of git, that are added
	removals
	additions
	refs       // and all else in a git directory
	links      // further names of files
	inPlace    // files that keep their other names: what else was one of these is none any more
	gitRemoved // names in a git directory
	lastPhase
)

// Script writes what carrying changes out takes. chosen says of a change whether it is wanted;
// the other names of a file come with it, and the objects of a repository with its refs.
func (l *Layer) Script(d *Diff, chosen func(*Change) bool, to io.Writer) error {
	if l.release == nil {
		return errors.New("a layer is applied by who holds it")
	}
	w := replay.NewWriter(to)
	wanted := d.complete(chosen)
	for i, tree := range l.Trees {
		s := &script{layer: l, diff: d, tree: i, out: w, linked: make(map[uint64]bool), touched: make(map[string]bool)}
		if err := s.write(string(tree), wanted); err != nil {
			return err
		}
	}
	return w.End()
}

// Selected gives the changes that come with those that are wanted.
func (d *Diff) Selected(chosen func(*Change) bool) []*Change {
	wanted := d.complete(chosen)
	return slices.DeleteFunc(slices.Clone(d.Changes), func(c *Change) bool { return !wanted[c] })
}

// complete adds what belongs to changes that are chosen.
func (d *Diff) complete(chosen func(*Change) bool) map[*Change]bool {
	wanted := make(map[*Change]bool)
	git := make(map[string]bool)
	for _, c := range d.Changes {
		if !d.may(c) || !chosen(c) {
			continue
		}
		wanted[c] = true
		if dir, object := d.gitOf(c.Tree, c.Path); dir != "" && !object {
			git[fmt.Sprint(c.Tree, dir)] = true
		}
	}
	parents := make(map[string]bool)
	for _, c := range d.Changes {
		dir, object := d.gitOf(c.Tree, c.Path)
		if object && c.What == Added && d.may(c) && git[fmt.Sprint(c.Tree, dir)] {
			wanted[c] = true
		}
		if !wanted[c] {
			continue
		}
		for at := path.Dir(c.Path); at != "."; at = path.Dir(at) {
			parents[fmt.Sprint(c.Tree, at)] = true
		}
	}
	for _, c := range d.Changes { // a directory that something wanted lies in
		if c.Now.Kind == Dir && c.What != Mode && parents[fmt.Sprint(c.Tree, c.Path)] {
			wanted[c] = d.may(c)
		}
	}
	for tree := range d.groups {
		for _, group := range d.groups[tree] {
			any := slices.ContainsFunc(group, func(m *member) bool { return m.change != nil && wanted[m.change] })
			for _, m := range group {
				if any && m.change != nil && d.may(m.change) {
					wanted[m.change] = true
				}
			}
		}
	}
	return wanted
}

// may says whether a change can be applied.
func (d *Diff) may(c *Change) bool { return c.Refused == "" && (c.Conflict == "" || d.Force) }

// gitOf gives the git directory that a path lies in, "" for none, and whether it is an object or
// a directory of objects there.
func (d *Diff) gitOf(tree int, at string) (dir string, object bool) {
	rest := at
	switch i := strings.Index("/"+at, "/.git/"); {
	case i >= 0:
		dir, rest = at[:i+len(".git/")], at[i+len(".git/"):]
	case d.bare[tree]:
		dir = "./"
	default:
		return "", false
	}
	below := strings.HasPrefix(rest, "modules/") && strings.Contains(rest, "/objects/")
	return dir, rest == "objects" || strings.HasPrefix(rest, "objects/") || below
}

// script writes the operations of one tree.
type script struct {
	layer   *Layer
	diff    *Diff
	tree    int
	out     *replay.Writer
	upper   int
	linked  map[uint64]bool // files with several names that have one of them already
	later   []replay.Op     // further names
	touched map[string]bool // directories in which something changes
}

func (s *script) write(tree string, wanted map[*Change]bool) (err error) {
	var phases [lastPhase][]*Change
	for _, c := range s.diff.Changes {
		if c.Tree != s.tree || !wanted[c] {
			continue
		}
		git, object := s.diff.gitOf(c.Tree, c.Path)
		phase := additions
		switch {
		case object && c.What == Added:
			phase = objects
		case c.Was.Kind == File && c.Was.Nlink > 1 && !c.replace && c.Now.Kind == File:
			phase = inPlace
		case git != "" && c.What == Removed:
			phase = gitRemoved
		case git != "":
			phase = refs
		case c.What == Removed:
			phase = removals
		}
		phases[phase] = append(phases[phase], c)
		if replaced(c) && phase != refs {
			phases[removals] = append(phases[removals], c)
		}
		s.touched[path.Dir(c.Path)] = true
	}
	if len(s.touched) == 0 {
		return nil
	}
	if s.upper, err = openTree(s.layer.Upper(s.tree)); err != nil {
		return err
	}
	defer unix.Close(s.upper)
	if err := s.out.Add(&replay.Op{Do: replay.DoTree, Path: []byte(tree)}, nil); err != nil {
		return err
	}
	backwards := func(a, b *Change) int { return strings.Compare(b.Path, a.Path) }
	slices.SortStableFunc(phases[removals], backwards)
	slices.SortStableFunc(phases[gitRemoved], func(a, b *Change) int {
		return cmp.Or(s.rank(a)-s.rank(b), backwards(a, b))
	})
	slices.SortStableFunc(phases[refs], func(a, b *Change) int {
		return cmp.Or(s.rank(a)-s.rank(b), strings.Compare(a.Path, b.Path))
	})
	for phase, list := range phases {
		for _, c := range list {
			if phase == removals || phase == gitRemoved || phase == refs && replaced(c) {
				if err := s.remove(c); err != nil || phase != refs {
					if err != nil {
						return err
					}
					continue
				}
			}
			if err := s.make(c); err != nil {
				return err
			}
		}
		if phase == links {
			for i := range s.later {
				if err := s.out.Add(&s.later[i], nil); err != nil {
					return err
				}
			}
		}
	}
	return s.directories(wanted)
}

// replaced says whether a change puts something of another kind into the place of a path.
func replaced(c *Change) bool {
	return c.What == Modified && c.Was.Kind != None && c.Was.Kind != c.Now.Kind
}

// rank orders what is in a git directory: directories, then what refers to nothing, then refs,
// HEAD, and of what is removed objects at last.
func (s *script) rank(c *Change) int {
	git, object := s.diff.gitOf(c.Tree, c.Path)
	rest := strings.TrimPrefix(c.Path, strings.TrimPrefix(git, "./"))
	switch {
	case object:
		return 6
	case c.Now.Kind == Dir:
		return 0
	case path.Base(rest) == "HEAD" && !strings.HasPrefix(rest, "logs/"):
		return 4
	case strings.Contains("/"+rest, "/refs/") && !strings.Contains("/"+rest, "/logs/"):
		return 3
	case path.Base(rest) == "packed-refs":
		return 2
	}
	return 1
}

// op begins an operation.
func (s *script) op(do string, c *Change) replay.Op {
	git, object := s.diff.gitOf(c.Tree, c.Path)
	return replay.Op{Do: do, Path: []byte(c.Path), Was: c.Was, Git: []byte(git), Ref: git != "" && (!object || c.What != Added)}
}

func (s *script) remove(c *Change) error {
	op := s.op(replay.DoRemove, c)
	if c.Was.Kind == Dir {
		op.Do = replay.DoRmdir
	}
	return s.out.Add(&op, nil)
}

// make writes what puts a path into the place of what is there.
func (s *script) make(c *Change) error {
	op := s.op("", c)
	if replaced(c) {
		op.Was = Stat{} // that has been removed
	}
	op.Perm, op.Mtime, op.Xattrs = c.Now.Perm, c.Now.Mtime, c.attrs
	switch c.Now.Kind {
	case Dir:
		if c.What == Mode {
			return nil // comes with the directories
		}
		op.Do, op.Xattrs = replay.DoMkdir, nil
		return s.out.Add(&op, nil)
	case Symlink:
		op.Do, op.To = replay.DoSymlink, []byte(c.To)
		return s.out.Add(&op, nil)
	case Fifo:
		op.Do = replay.DoFifo
		if c.What == Mode {
			op.Do = replay.DoMeta
		}
		return s.out.Add(&op, nil)
	}
	if c.Now.Nlink > 1 {
		if done := s.link(c, op); done {
			return nil
		}
		if below, seeded := s.diff.seeds[s.tree].of[c.Now.Ino]; seeded && c.Was.Kind == File && c.Was.Ino == below {
			op.Do = replay.DoWrite
		}
	}
	if op.Xattrs == nil {
		op.Xattrs = map[string][]byte{}
	}
	switch {
	case (c.What == Mode || c.What == Time) && !c.replace:
		op.Do = replay.DoMeta
		return s.out.Add(&op, nil)
	case op.Do == "":
		op.Do = replay.DoFile
	}
	return s.content(c, &op)
}

// link makes a change of a further name of a file one that comes later. It is false for the
// name that the others are made of.
func (s *script) link(c *Change, op replay.Op) bool {
	first := s.diff.anchor(s.tree, c.Now.Ino)
	if first.path == c.Path {
		return false
	}
	kept := first.change == nil || !first.change.replace
	if kept && c.Was.Kind == File && c.Was.Ino == first.was.Ino {
		return true // it is a name of that file already
	}
	op.Do, op.To, op.Xattrs = replay.DoLink, []byte(first.path), nil
	s.later = append(s.later, op)
	return true
}

// content writes an operation with the bytes of a file of the layer.
func (s *script) content(c *Change, op *replay.Op) error {
	f, err := s.layer.above(s.upper, c)
	if err != nil {
		return err
	}
	defer f.Close()
	op.Size = c.Now.Size
	return s.out.Add(op, f)
}

// above opens the file of a change in the upper directory.
func (l *Layer) above(upper int, c *Change) (*os.File, error) {
	dir, err := openDeep(upper, path.Dir(c.Path))
	if err != nil {
		return nil, fmt.Errorf("opening what %q lies in: %w", c.Path, err)
	}
	defer unix.Close(dir)
	fd, err := opened(dir, path.Base(c.Path), &c.Now, 0o400, openFile)
	if err != nil {
		return nil, fmt.Errorf("opening %q in the layer: %w", c.Path, err)
	}
	return os.NewFile(uintptr(fd), c.Path), nil
}

// directories writes the modes, times and attributes of directories, the deepest first. Where
// all is applied, so is the time of a directory in which something came and went.
func (s *script) directories(wanted map[*Change]bool) error {
	changed, all := make(map[string]bool), true
	for _, c := range s.diff.Changes {
		if c.Tree == s.tree && wanted[c] && c.Now.Kind == Dir {
			changed[c.Path] = true
		}
		all = all && (c.Tree != s.tree || wanted[c])
	}
	for _, dir := range slices.Backward(s.diff.dirs) {
		timed := all && dir.was.Kind == Dir && dir.was.Mtime != dir.now.Mtime
		if dir.tree != s.tree || !s.touched[dir.path] && !changed[dir.path] && !timed {
			continue
		}
		op := replay.Op{Do: replay.DoDir, Path: []byte(dir.path), Was: Stat{Kind: Dir}, Perm: dir.now.Perm, Mtime: dir.now.Mtime}
		if op.Xattrs = dir.attrs; op.Xattrs == nil {
			op.Xattrs = map[string][]byte{}
		}
		if err := s.out.Add(&op, nil); err != nil {
			return err
		}
	}
	return nil
}

// Contents reads a file of a change as it is below and in the layer, at most so many bytes of
// each; nil where there is no regular file.
func (l *Layer) Contents(c *Change, most int64) (was, now []byte, err error) {
	if c.Was.Kind == File {
		root, err := openTree(string(l.Trees[c.Tree]))
		if err != nil {
			return nil, nil, err
		}
		defer unix.Close(root)
		fd, err := openFile(root, c.Path)
		if err != nil {
			return nil, nil, fmt.Errorf("opening %q: %w", c.Path, err)
		}
		f := os.NewFile(uintptr(fd), c.Path)
		defer f.Close()
		if was, err = readAtMost(f, most); err != nil {
			return nil, nil, err
		}
	}
	if c.Now.Kind == File {
		root, err := openTree(l.Upper(c.Tree))
		if err != nil {
			return nil, nil, err
		}
		defer unix.Close(root)
		f, err := l.above(root, c)
		if err != nil {
			return nil, nil, err
		}
		defer f.Close()
		if now, err = readAtMost(f, most); err != nil {
			return nil, nil, err
		}
	}
	return was, now, nil
}
