package fileops

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// place is what paths lead in: the whole system, or one directory that no path may leave,
// by a link neither, whatever somebody makes of it meanwhile.
type place struct {
	root *os.Root // nil for the whole system
	dir  string
}

var everywhere = &place{}

// beneath is the place of a directory; "" is everywhere.
func beneath(dir string) (*place, error) {
	if dir == "" {
		return everywhere, nil
	}
	root, err := os.OpenRoot(dir)
	return &place{root: root, dir: filepath.Clean(dir)}, err
}

func (a *place) close() {
	if a.root != nil {
		a.root.Close()
	}
}

var errOutside = errors.New("the path leads out of the directory")

// rel is a path as the root takes it.
func (a *place) rel(p Path) (string, error) {
	path := string(p)
	if !filepath.IsAbs(path) {
		return path, nil
	}
	rel, err := filepath.Rel(a.dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", errOutside
	}
	return rel, nil
}

func (a *place) stat(p Path) (fs.FileInfo, error) {
	if a.root == nil {
		return os.Stat(string(p))
	}
	rel, err := a.rel(p)
	if err != nil {
		return nil, err
	}
	st, err := a.root.Stat(rel)
	return st, outside(err)
}

func (a *place) lstat(p Path) (fs.FileInfo, error) {
	if a.root == nil {
		return os.Lstat(string(p))
	}
	rel, err := a.rel(p)
	if err != nil {
		return nil, err
	}
	st, err := a.root.Lstat(rel)
	return st, outside(err)
}

func (a *place) open(p Path, flags int, perm fs.FileMode) (*os.File, error) {
	if a.root == nil {
		return os.OpenFile(string(p), flags|careful, perm)
	}
	rel, err := a.rel(p)
	if err != nil {
		return nil, err
	}
	f, err := a.root.OpenFile(rel, flags|careful, perm)
	return f, outside(err)
}

func (a *place) readlink(p Path) (string, error) {
	if a.root == nil {
		return os.Readlink(string(p))
	}
	rel, err := a.rel(p)
	if err != nil {
		return "", err
	}
	target, err := a.root.Readlink(rel)
	return target, outside(err)
}

func (a *place) mkdir(p Path) error {
	if a.root == nil {
		return os.Mkdir(string(p), 0o777)
	}
	rel, err := a.rel(p)
	if err != nil {
		return err
	}
	return outside(a.root.Mkdir(rel, 0o777))
}

func (a *place) remove(p Path) error {
	if a.root == nil {
		return os.Remove(string(p))
	}
	rel, err := a.rel(p)
	if err != nil {
		return err
	}
	return outside(a.root.Remove(rel))
}

// outside is an error of the root's that a path leaves it, as one of ours.
func outside(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) && strings.Contains(at.Err.Error(), "escapes") {
		return errOutside
	}
	return err
}

// parents makes the directories above a path that are missing, and gives them, the
// outermost first, also with an error.
func (a *place) parents(p Path) (made []Path, err error) {
	var missing []Path
	for dir := Path(filepath.Dir(string(p))); ; dir = Path(filepath.Dir(string(dir))) {
		if _, err := a.stat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append(missing, dir)
		if len(missing) > maxPathSize/2 {
			return nil, fmt.Errorf("making the directories of %q: there are too many", p.short())
		}
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if err := a.mkdir(missing[i]); err == nil {
			made = append(made, missing[i])
		} else if !errors.Is(err, fs.ErrExist) {
			return made, err
		}
	}
	return made, nil
}

// unmake removes directories that nothing was put into.
func (a *place) unmake(made []Path) {
	for i := len(made) - 1; i >= 0; i-- {
		_ = a.remove(made[i])
	}
}
