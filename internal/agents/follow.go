package agents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is how many links one place may go through.
const maxLinks = 10

// Follow says where a place of the host's home lies: the canonical path of home, and
// what is below it, without links. What is not there yet keeps its name.
//
// Links of the user's own are followed: those that lie in home itself, and one elsewhere.
// What it leads to, as a directory of dot files, may be the project of another workspace,
// and whoever works there can put a link to anywhere in its place: one that is reached
// by a link is an error. So is one that leads out of home, out of the working tree of a
// repository that is not home's, and to nothing ([fs.ErrNotExist]).
func Follow(home, place string) (real, rel string, err error) {
	if real, err = filepath.EvalSymlinks(home); err != nil {
		return "", "", err
	}
	rel, err = follow(real, place, false)
	return real, rel, err
}

// follow does it from the canonical path; linked says that a link was followed already.
func follow(real, place string, linked bool) (string, error) {
	at, todo, links := "", strings.Split(filepath.Clean(place), "/"), 0
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
		case linked && filepath.Dir(next) != ".":
			return "", fmt.Errorf("%q is a link that is reached by a link: whoever writes there would choose where it leads", full)
		}
		below, err := target(real, full)
		if err != nil {
			return "", err
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%q is one of more than %d links", full, maxLinks)
		}
		if _, err := os.Lstat(filepath.Join(real, below)); err != nil {
			return "", err
		}
		at, todo, linked = "", append(strings.Split(below, "/"), todo...), true
	}
	return filepath.Join(".", at), nil
}

// target is where a link leads, below home.
func target(real, link string) (string, error) {
	to, err := os.Readlink(link)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(link), to)
	}
	below, ok := belowHome(to, real)
	if !ok {
		return "", fmt.Errorf("a link leads out of the home directory, to %q", to)
	}
	for at := filepath.Dir(link); at != real; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err != nil {
			continue
		}
		if rel, err := filepath.Rel(at, filepath.Join(real, below)); err != nil || !filepath.IsLocal(rel) {
			return "", fmt.Errorf("%q is a link that leads out of the repository %q: commands may write there", link, at)
		}
		break
	}
	return below, nil
}

// belowHome gives what of a path is below home, which may have other names: /home/u for
// /usr/home/u. The first that is home counts, so that no link below it is followed.
func belowHome(path, real string) (string, bool) {
	if rel, err := filepath.Rel(real, path); err == nil && filepath.IsLocal(rel) {
		return rel, true
	}
	parts := strings.Split(filepath.Clean(path), "/")
	for i := 2; i <= len(parts); i++ {
		name := strings.Join(parts[:i], "/")
		if is, err := filepath.EvalSymlinks(name); err == nil && is == real {
			return filepath.Join(".", filepath.Join(parts[i:]...)), true
		}
	}
	return "", false
}

// hold opens a directory, which no part of the way to may be a link of: what is done in
// it is done there, whatever is exchanged meanwhile. The caller closes it.
func hold(root *os.Root, dir string) (*os.Root, error) {
	at, err := root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(filepath.ToSlash(filepath.Clean(dir)), "/") {
		if name == "." {
			continue
		}
		next, err := step(at, name)
		at.Close()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

func step(at *os.Root, name string) (*os.Root, error) {
	before, err := at.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, fmt.Errorf("%q: %s is no directory", name, before.Mode().Type())
	}
	next, err := at.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if after, err := next.Stat("."); err != nil || !os.SameFile(before, after) {
		next.Close()
		return nil, fmt.Errorf("%q was replaced while it was opened", name)
	}
	return next, nil
}
