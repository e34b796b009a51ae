package agents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Follow says where a place of the host's home lies: the canonical path of home, and
// what is below it, without links. What is not there yet keeps its name.
//
// One link of the user's own is followed, as to a directory of dot files. What it leads
// to may be the project of another workspace, and whoever works there can put a link to
// anywhere in its place: one that is reached by a link is an error, as is one that leads
// out of home, and one to nothing ([fs.ErrNotExist]).
func Follow(home, place string) (real, rel string, err error) {
	if real, err = filepath.EvalSymlinks(home); err != nil {
		return "", "", err
	}
	rel, err = follow(home, real, place, false)
	return real, rel, err
}

// follow does it from the canonical path; linked says that a link was followed already.
func follow(home, real, place string, linked bool) (string, error) {
	at, todo := "", strings.Split(filepath.Clean(place), "/")
	for len(todo) > 0 {
		next := filepath.Join(at, todo[0])
		todo = todo[1:]
		full := filepath.Join(real, next)
		st, err := os.Lstat(full)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return filepath.Join(next, filepath.Join(todo...)), nil
		case err != nil:
			return "", err
		case st.Mode()&fs.ModeSymlink == 0:
			at = next
			continue
		case linked:
			return "", fmt.Errorf("%q is a link that is reached by a link: whoever writes there would choose where it leads", full)
		}
		to, err := os.Readlink(full)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(full), to)
		}
		below, ok := belowHome(to, real, home)
		if !ok {
			return "", fmt.Errorf("a link leads out of the home directory, to %q", to)
		}
		if _, err := os.Lstat(filepath.Join(real, below)); err != nil {
			return "", err
		}
		at, todo, linked = "", append(strings.Split(below, "/"), todo...), true
	}
	return filepath.Join(".", at), nil
}

// belowHome gives what of a path is below one of the names of home.
func belowHome(path string, homes ...string) (string, bool) {
	for _, home := range homes {
		if rel, err := filepath.Rel(home, path); err == nil && filepath.IsLocal(rel) {
			return rel, true
		}
	}
	return "", false
}
