package review

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// maxChanges bounds the paths that one layer changes.
const maxChanges = 2_000_000

// Changes compares the layer, which is held, with its trees as they are now.
func (l *Layer) Changes() (*Diff, error) {
	if l.release == nil {
		return nil, errors.New("a layer is compared by who holds it")
	}
	d := new(Diff)
	for i, tree := range l.Trees {
		seeds, err := l.seeds(i)
		if err != nil {
			return nil, err
		}
		d.seeds, d.groups = append(d.seeds, seeds), append(d.groups, make(map[uint64][]*member))
		if err := l.compare(d, i, string(tree)); err != nil {
			return nil, fmt.Errorf("comparing the layer with %q: %w", tree, err)
		}
		d.links(i)
		if err := l.conflicts(d, i); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(d.Changes, func(a, b *Change) int { return cmp.Or(a.Tree-b.Tree, strings.Compare(a.Path, b.Path)) })
	return d, nil
}

func (l *Layer) compare(d *Diff, i int, tree string) error {
	low, err := openTree(tree)
	if err != nil {
		return err
	}
	defer unix.Close(low)
	up, err := openTree(l.Upper(i))
	if err != nil {
		return err
	}
	defer unix.Close(up)
	is := func(name string, kind Kind) bool { st, err := statAt(low, name); return err == nil && st.Kind == kind }
	d.bare = append(d.bare, is("HEAD", File) && is("objects", Dir) && is("refs", Dir))
	c := &comparison{diff: d, tree: i}
	if err := c.root(up, low); err != nil {
		return err
	}
	return c.merge(up, low, "", false, 0)
}

// comparison goes through an upper directory and the tree below it together.
type comparison struct {
	diff *Diff
	tree int
}

// root compares the top of the tree itself.
func (c *comparison) root(up, low int) error {
	was, err := statAt(low, ".")
	if err != nil {
		return err
	}
	now, err := statAt(up, ".")
	if err != nil {
		return err
	}
	had, err := xattrs(low)
	if err != nil {
		return err
	}
	attrs, err := xattrs(up)
	if err != nil {
		return err
	}
	c.diff.dirs = append(c.diff.dirs, directory{c.tree, ".", was, now, attrs})
	if was.Perm != now.Perm || !sameXattrs(had, attrs) {
		c.add(&Change{Path: ".", What: Mode, Was: was, Now: now, attrs: attrs})
	}
	return nil
}

func (c *comparison) add(one *Change) *Change {
	one.Tree = c.tree
	c.diff.Changes = append(c.diff.Changes, one)
	return one
}

// merge compares one directory. low is -1 where there is none below; hides says that what is
// there does not show through.
func (c *comparison) merge(up, low int, rel string, hides bool, depth int) error {
	if depth > maxDepth || len(c.diff.Changes) > maxChanges {
		return fmt.Errorf("it changes more than %d paths, or lies more than %d directories deep", maxChanges, maxDepth)
	}
	names, err := namesIn(up)
	if err != nil {
		return err
	}
	for _, name := range names {
		now, err := statAt(up, name)
		if err != nil {
			return err
		}
		var was Stat
		if low >= 0 {
			if was, err = statAt(low, name); err != nil {
				return err
			}
		}
		if err := c.name(up, low, name, path.Join(rel, name), was, now, hides, depth); err != nil {
			return err
		}
	}
	if low < 0 || !hides {
		return nil
	}
	below, err := namesIn(low)
	if err != nil {
		return err
	}
	for _, name := range below {
		if _, there := slices.BinarySearch(names, name); there {
			continue
		}
		was, err := statAt(low, name)
		if err == nil && was.Kind != None {
			err = c.removed(low, name, path.Join(rel, name), was, true, depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// name compares one name of an upper directory.
func (c *comparison) name(up, low int, name, at string, was, now Stat, hides bool, depth int) error {
	switch {
	case now.Kind == None:
		return errors.New("the layer changes while it is looked at")
	case isWhiteout(up, name, &now):
		if was.Kind == None {
			return nil
		}
		return c.removed(low, name, at, was, true, depth)
	case now.Kind == Dir:
		return c.directory(up, low, name, at, was, now, hides, depth)
	}
	if was.Kind == Dir {
		if err := c.removed(low, name, at, was, false, depth); err != nil {
			return err
		}
	}
	one := &Change{Path: at, Was: was, Now: now, What: Modified}
	if was.Kind == None {
		one.What = Added
	}
	switch now.Kind {
	case File:
		return c.file(up, low, name, one)
	case Symlink:
		to, err := linkAt(up, name)
		if err != nil {
			return err
		}
		one.To = to
		if was.Kind == Symlink {
			if below, err := linkAt(low, name); err != nil || below == to {
				return err
			}
		}
	case Fifo:
		if was.Kind == Fifo {
			if was.Perm == now.Perm {
				return nil
			}
			one.What = Mode
		}
	default:
		one.Refused = "it is a socket"
		if now.Kind == Device {
			one.Refused = "it is a device"
		}
	}
	c.add(one)
	return nil
}

// removed notes that a path is gone, and before it all that is in it. itself is false where
// something else takes its place.
func (c *comparison) removed(low int, name, at string, was Stat, itself bool, depth int) error {
	if was.Kind == Dir {
		if depth > maxDepth {
			return fmt.Errorf("%q lies more than %d directories deep", at, maxDepth)
		}
		fd, err := openDir(low, name, 0)
		if err != nil {
			return fmt.Errorf("opening %q, which is to be removed: %w", at, err)
		}
		defer unix.Close(fd)
		names, err := namesIn(fd)
		if err != nil {
			return err
		}
		for _, inner := range names {
			st, err := statAt(fd, inner)
			if err == nil && st.Kind != None {
				err = c.removed(fd, inner, path.Join(at, inner), st, true, depth+1)
			}
			if err != nil {
				return err
			}
		}
	}
	if itself {
		c.add(&Change{Path: at, What: Removed, Was: was})
	}
	return nil
}

func (c *comparison) directory(up, low int, name, at string, was, now Stat, hides bool, depth int) error {
	fd, err := opened(up, name, &now, 0o700, openIn)
	if err != nil {
		return fmt.Errorf("opening %q in the layer: %w", at, err)
	}
	defer unix.Close(fd)
	attrs, err := xattrs(fd)
	if err != nil {
		return err
	}
	opaque, err := xattr(fd, opaqueAttr)
	if err != nil && !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	c.diff.dirs = append(c.diff.dirs, directory{c.tree, at, was, now, attrs})
	if was.Kind != Dir {
		one := c.add(&Change{Path: at, What: Added, Was: was, Now: now, attrs: attrs})
		if was.Kind != None {
			one.What = Modified
		}
		return c.merge(fd, -1, at, false, depth+1)
	}
	below, err := openDir(low, name, 0)
	if err != nil {
		return fmt.Errorf("opening %q: %w", at, err)
	}
	defer unix.Close(below)
	had, err := xattrs(below)
	if err != nil {
		return err
	}
	if was.Perm != now.Perm || !sameXattrs(had, attrs) {
		c.add(&Change{Path: at, What: Mode, Was: was, Now: now, attrs: attrs})
	}
	return c.merge(fd, below, at, hides || string(opaque) == "y", depth+1)
}

// file compares a regular file above with what is below.
func (c *comparison) file(up, low int, name string, one *Change) error {
	fd, err := opened(up, name, &one.Now, 0o400, openFile)
	if err != nil {
		return fmt.Errorf("opening %q in the layer: %w", one.Path, err)
	}
	above := os.NewFile(uintptr(fd), name)
	defer above.Close()
	if one.attrs, err = xattrs(fd); err != nil {
		return err
	}
	if err := c.diff.seeds[c.tree].check(fd, one.Now.Ino); err != nil {
		return err
	}
	m := &member{path: one.Path, was: one.Was, now: one.Now}
	if one.Was.Kind == File {
		if one.What, err = c.differs(above, low, name, one); err != nil {
			return fmt.Errorf("comparing %q: %w", one.Path, err)
		}
	} else {
		one.replace = true
	}
	if one.What != "" {
		m.change = c.add(one)
	}
	if one.Now.Nlink > 1 {
		groups := c.diff.groups[c.tree]
		groups[one.Now.Ino] = append(groups[one.Now.Ino], m)
	}
	return nil
}

// differs says how two files differ, "" where they do not.
func (c *comparison) differs(above *os.File, low int, name string, one *Change) (What, error) {
	seeds := c.diff.seeds[c.tree]
	one.replace = one.Was.Nlink > 1 && seeds.of[one.Now.Ino] != one.Was.Ino
	if one.replace && seeds.below[one.Was.Ino] {
		return Modified, nil // it was a name of that file, and is none any more
	}
	fd, err := openFile(low, name)
	if err != nil {
		return "", err
	}
	below := os.NewFile(uintptr(fd), name)
	defer below.Close()
	if one.Was.Size != one.Now.Size {
		return Modified, nil
	}
	same, err := sameBytes(above, below)
	if err != nil || !same {
		return Modified, err
	}
	had, err := xattrs(fd)
	switch {
	case err != nil:
		return "", err
	case one.Was.Perm != one.Now.Perm || !sameXattrs(had, one.attrs):
		return Mode, nil
	case one.Was.Mtime != one.Now.Mtime:
		return Time, nil
	}
	return "", nil
}

// links notes which names become those of one file that are none below.
func (d *Diff) links(tree int) {
	for ino, group := range d.groups[tree] {
		slices.SortFunc(group, func(a, b *member) int { return strings.Compare(a.path, b.path) })
		first := d.anchor(tree, ino)
		for _, m := range group {
			if m.change == nil && m != first && m.was.Ino != first.was.Ino {
				m.change = &Change{Tree: tree, Path: m.path, What: Linked, Was: m.was, Now: m.now, replace: true}
				d.Changes = append(d.Changes, m.change)
			}
		}
	}
}

// anchor is the name that stands for a file with several ones: one that is as it is below, else
// one of the file that was copied for its links, else the first.
func (d *Diff) anchor(tree int, ino uint64) *member {
	group := d.groups[tree][ino]
	for _, m := range group {
		if m.change == nil {
			return m
		}
	}
	for _, m := range group {
		if below, ok := d.seeds[tree].of[ino]; ok && m.was.Kind == File && m.was.Ino == below {
			return m
		}
	}
	return group[0]
}

// conflicts compares what is there now with the index of the beginning.
func (l *Layer) conflicts(d *Diff, tree int) error {
	f, err := os.Open(l.part(tree, "index"))
	if err != nil {
		return err
	}
	defer f.Close()
	was := make(map[string]record)
	for _, c := range d.Changes {
		if c.Tree == tree {
			was[c.Path] = record{}
		}
	}
	err = readIndex(f, func(path string, r record) {
		if _, wanted := was[path]; wanted {
			was[path] = r
		}
	})
	if err != nil {
		return fmt.Errorf("layer %s: %w", l.ID, err)
	}
	root, err := openTree(string(l.Trees[tree]))
	if err != nil {
		return err
	}
	defer unix.Close(root)
	for _, c := range d.Changes {
		if c.Tree != tree {
			continue
		}
		before := was[c.Path]
		if unchanged(&before.Stat, &c.Was) || c.Now.Kind == Dir && c.Was.Kind == Dir && before.Kind == None {
			continue
		}
		if before.sum != nil && c.Was.Kind == File && bytes.Equal(before.sum, gitIndexSum(root, c.Path, c.Was.Size)) {
			continue // a git status has noted what it has seen
		}
		switch {
		case before.Kind == None:
			c.Conflict = "it was made meanwhile"
		case c.Was.Kind == None:
			c.Conflict = "it was removed meanwhile"
		default:
			c.Conflict = "it was changed meanwhile"
		}
	}
	return nil
}
