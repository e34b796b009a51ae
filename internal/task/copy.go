package task

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Bounds of what is copied into a new worktree.
const (
	maxCopied = 200_000 // files and directories
	maxDepth  = 200     // of directories
)

// Copy puts files and directories of one working tree into another: paths relative to both, or
// patterns of [path.Match]. A file that is there already is replaced. Links are made anew and
// not followed, and nothing outside of the two directories is reached. It gives the number of
// files, and an error for the first pattern that fits nothing.
func Copy(from, to string, patterns []string) (n int, err error) {
	src, err := os.OpenRoot(from)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	dst, err := os.OpenRoot(to)
	if err != nil {
		return 0, err
	}
	defer dst.Close()
	c := &copier{src: src, dst: dst}
	for _, pattern := range patterns {
		names, err := matches(src, pattern)
		if err != nil {
			return c.n, err
		}
		for _, name := range names {
			if err := c.parents(name); err != nil {
				return c.n, err
			}
			if err := c.copy(name, 0); err != nil {
				return c.n, err
			}
		}
	}
	return c.n, nil
}

func matches(root *os.Root, pattern string) ([]string, error) {
	clean := path.Clean(pattern)
	if path.IsAbs(clean) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") || clean == ".git" ||
		strings.HasPrefix(clean, ".git/") {
		return nil, fmt.Errorf("%q cannot be taken into a task: want a path in the working tree, relative to its top", pattern)
	}
	if _, err := root.Lstat(clean); err == nil {
		return []string{clean}, nil // also one with a bracket in its name
	}
	names, err := fs.Glob(root.FS(), clean)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", pattern, err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%q is not in %s", pattern, root.Name())
	}
	return names, nil
}

type copier struct {
	src, dst *os.Root
	n        int
}

// parents makes the directories that lead to a name.
func (c *copier) parents(name string) error {
	dir := path.Dir(name)
	if dir == "." {
		return nil
	}
	return c.dst.MkdirAll(dir, 0o777)
}

func (c *copier) copy(name string, depth int) error {
	st, err := c.src.Lstat(name)
	if err != nil {
		return err
	}
	if c.n++; c.n > maxCopied || depth > maxDepth {
		return fmt.Errorf("%q: more than %d files, or %d directories deep, are not copied", name, maxCopied, maxDepth)
	}
	switch {
	case st.Mode().IsRegular():
		return c.file(name, st)
	case st.Mode()&fs.ModeSymlink != 0:
		return c.link(name)
	case st.IsDir():
		return c.directory(name, st, depth)
	}
	return nil // a socket, a pipe or a device is of no use there
}

func (c *copier) link(name string) error {
	target, err := c.src.Readlink(name)
	if err != nil {
		return err
	}
	if err := c.dst.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return c.dst.Symlink(target, name)
}

func (c *copier) directory(name string, st fs.FileInfo, depth int) error {
	if path.Base(name) == ".git" {
		return nil // a repository of its own is not taken over by its files
	}
	if err := c.dst.Mkdir(name, st.Mode().Perm()|0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	dir, err := c.src.Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(1000)
		for _, one := range names {
			if err := c.copy(path.Join(name, one), depth+1); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *copier) file(name string, st fs.FileInfo) error {
	in, err := c.src.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := c.dst.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := c.dst.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, st.Mode().Perm())
	if err != nil {
		return err
	}
	if err := clone(out, in); err != nil {
		_, err = io.Copy(out, in)
		if err != nil {
			out.Close()
			return err
		}
	}
	return out.Close()
}
