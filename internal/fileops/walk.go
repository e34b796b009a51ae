package fileops

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tree is a walk through one directory: what is to be done is a list, so that depth
// costs no stack, and links to directories are not followed, so that it ends.
type tree struct {
	ctx    context.Context
	hidden bool
	git    bool
	prune  func(below string) bool // nil: no directory is left out
	left   *int                    // names that may still be looked at

	incomplete string
}

// entry is one thing that a walk has found. Path begins with the walk's root.
type entry struct {
	path  string
	below string // relative to the root
	kind  fs.FileMode
}

// pending is a directory that is still to be read.
type pending struct {
	entry
	git *ignoring
}

// walk hands out what is below a root and no directory, sorted by the names on the
// way. A root that is a file is handed out itself.
func (t *tree) walk(root string, each func(entry) error) error {
	st, err := os.Stat(root)
	if err != nil {
		return told(Path(root), err)
	}
	if !st.IsDir() {
		return each(entry{path: root, below: filepath.Base(root), kind: st.Mode().Type()})
	}
	first := pending{entry: entry{path: filepath.Clean(root), kind: fs.ModeDir}}
	if t.git {
		first.git = ignoringAt(first.path)
	}
	todo := []pending{first}
	for len(todo) > 0 {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if next.kind != fs.ModeDir {
			if err := each(next.entry); err != nil {
				return err
			}
			continue
		}
		found, err := t.read(&next, next.below == "")
		if err != nil {
			return err
		}
		slices.Reverse(found)
		todo = append(todo, found...)
	}
	return nil
}

// read lists a directory, without what is to be left out.
func (t *tree) read(dir *pending, root bool) ([]pending, error) {
	flags := noFollow
	if root {
		flags = 0
	}
	f, err := openDir(dir.path, flags)
	if err != nil {
		if root {
			return nil, told(Path(dir.path), err)
		}
		return nil, t.ctx.Err() // it may not be read, has gone, or lies too deep
	}
	defer f.Close()
	entries, err := readNames(t.ctx, f, *t.left)
	if errors.Is(err, errMany) {
		t.incomplete = errMany.Error()
	} else if err != nil && t.ctx.Err() != nil {
		return nil, t.ctx.Err()
	}
	*t.left -= len(entries)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	git := dir.git
	if t.git {
		git = t.ignoring(dir, entries)
	}
	var out []pending
	for _, e := range entries {
		one := pending{entry: entry{path: e.Name(), below: e.Name(), kind: e.Type()}, git: git}
		if dir.path != "." {
			one.path = filepath.Join(dir.path, e.Name())
		}
		if !root {
			one.below = dir.below + "/" + e.Name()
		}
		switch isDir := e.IsDir(); {
		case !t.hidden && strings.HasPrefix(e.Name(), "."):
		case t.git && e.Name() == ".git":
		case t.git && git.ignored(one.path, isDir):
		case isDir && t.prune != nil && t.prune(one.below):
		default:
			out = append(out, one)
		}
	}
	return out, nil
}

// ignoring is what holds for the entries of a directory. In a repository of its own
// that of the one around it does not count.
func (t *tree) ignoring(dir *pending, entries []fs.DirEntry) *ignoring {
	has := func(name string) bool {
		_, ok := slices.BinarySearchFunc(entries, name, func(e fs.DirEntry, name string) int { return cmp.Compare(e.Name(), name) })
		return ok
	}
	git := dir.git
	if has(".git") {
		git = repository(dir.path, dir.path, "")
	}
	if has(".gitignore") {
		git = git.with(dir.path, dir.path, "")
	}
	return git
}

// readable says whether a file that was found may be read. What may not, since the
// walls hide it or its mode forbids it, is not named; what is no file is not opened.
func readable(e entry) bool {
	st, err := os.Stat(e.path)
	if err != nil {
		return e.kind == fs.ModeSymlink && errors.Is(err, fs.ErrNotExist) // a link to nothing
	}
	if !st.Mode().IsRegular() {
		return true
	}
	f, err := os.OpenFile(e.path, os.O_RDONLY|careful, 0)
	if err != nil {
		return false
	}
	f.Close()
	return true
}
