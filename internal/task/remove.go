package task

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Take removes files of a working tree by their paths in it. Directories and what is not there
// are left.
func Take(tree string, names []string) error {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range names {
		st, err := root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && st.IsDir() {
			continue
		}
		if err == nil {
			err = root.Remove(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// RemoveTree removes the files of a worktree, those of read-only directories too. No link is
// followed. The directory that held it goes with it where nothing else is in it.
func RemoveTree(tree string) error {
	err := os.RemoveAll(tree)
	if errors.Is(err, fs.ErrPermission) { // as a cache of modules leaves it
		if err = makeWritable(tree); err == nil {
			err = os.RemoveAll(tree)
		}
	}
	if err != nil {
		return fmt.Errorf("removing the worktree: %w", err)
	}
	_ = os.Remove(filepath.Dir(tree)) // of the repository, with its last task
	return nil
}

func makeWritable(tree string) error {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			if st, e := d.Info(); e == nil && st.Mode().Perm()&0o700 != 0o700 {
				return root.Chmod(path, st.Mode().Perm()|0o700)
			}
		}
		return nil // what cannot be read is told by the removal
	})
}
