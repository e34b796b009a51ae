package guard

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"strings"

	"carrel/internal/gitconf"
	"carrel/internal/gitdir"
	"carrel/internal/protect"

	"golang.org/x/sys/unix"
)

// maxGitPlaces bounds the directories that are looked at, for one index, because it has
// names of git's in them.
const maxGitPlaces = 20_000

// gitPlace is a directory in which an index has names of git's: it may be a git directory
// that is not called .git.
type gitPlace struct {
	parts   map[string]bool // the names
	entries []indexEntry
}

// indexEntry is a [gitconf.IndexEntry] that stays.
type indexEntry struct {
	name, object string
	mode         uint32
}

// vetIndex judges an index: git writes files by the paths in it. Each is given to also, if
// that is not nil.
func vetIndex(text []byte, hash int, also func(gitconf.IndexEntry) error) error {
	if hash == 0 {
		return errors.New("the configuration that says how it is read cannot be read")
	}
	return gitconf.IndexEntries(text, hash, func(e gitconf.IndexEntry) error {
		if !ordinary(e.Name) {
			// One with a slash at the end is a directory that is not checked out.
			if err := inTree(strings.TrimSuffix(string(e.Name), "/")); err != nil {
				return err
			}
		}
		if also == nil {
			return nil
		}
		return also(e)
	})
}

// vetIndexOf judges the index of a git directory. What it has in another git directory, or
// in what would become one with it, has to lie there already, or to have been in the index
// before: else git writes it there when it checks out.
func (d *facts) vetIndexOf(dir string, before, after []byte) error {
	hash, tree := d.hashOf(dir), d.c.checkedOutFrom(dir)
	places := make(map[string]*gitPlace)
	err := vetIndex(after, hash, func(e gitconf.IndexEntry) error {
		if tree == "" {
			return nil
		}
		return collect(places, e)
	})
	if err != nil {
		return err
	}
	var was map[indexEntry]bool
	for at, place := range places {
		in := tree + "/" + at
		onDisk := holds(in, "")
		has := func(name string) bool { return place.parts[name] || onDisk(name) }
		if in != d.c.Git.Common && in != d.c.Git.Dir && !d.bears(in) && !protect.BareRepository(has) {
			continue
		}
		if was == nil {
			was = entriesOf(before, hash)
		}
		for _, e := range place.entries {
			if !was[e] && !d.c.lies(tree+"/"+e.name, e, hash) {
				return fmt.Errorf("git would write to %q in a git directory", e.name)
			}
		}
	}
	return nil
}

// indexedIn says why a directory in a working tree may not become a git directory, or what
// is at from may not come to its place: there is an entry in the index for a file that git
// acts on, and git would write it there.
func (d *facts) indexedIn(dir, from string) error {
	for tree := path.Dir(dir); len(tree) > 1; tree = path.Dir(tree) {
		if !isTree(tree) {
			continue
		}
		git := gitdir.Of(tree)
		text, err := gitdir.Read(git+"/index", maxIndex)
		if gitdir.IsMissing(err) {
			continue
		}
		if err != nil {
			return err
		}
		hash, in := d.hashOf(git), dir[len(tree)+1:]+"/"
		if err := vetIndex(text, hash, func(e gitconf.IndexEntry) error {
			name, below := strings.CutPrefix(string(e.Name), in)
			if below && controls(name, func(of string) bool { return from == dir || protect.BareRepository(holds(path.Join(from, of), "")) }) &&
				!d.c.lies(from+"/"+name, indexEntry{object: string(e.Object), mode: e.Mode}, hash) {
				return fmt.Errorf("git would write to %q in it", name)
			}
			return nil
		}); err != nil {
			return fmt.Errorf("the index of %s: %w", tree, err)
		}
	}
	return nil
}

// controls says whether a path has a part by which git runs programs, in a directory of which
// that is one of git's.
func controls(name string, gits func(of string) bool) bool {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		switch part {
		case "config", "config.worktree", "hooks", "commondir", "info":
			if gits(strings.Join(parts[:i], "/")) {
				return true
			}
		}
	}
	return false
}

// checkedOutFrom gives the working tree that git writes to by the index of a git directory,
// "" where there is none.
func (c *Config) checkedOutFrom(dir string) string {
	switch tree := gitdir.TreeOf(dir); {
	case tree != "":
		return tree
	case path.Base(dir) == ".git":
		return path.Dir(dir)
	case c.Git.Dir != "" && dir == c.Git.Dir:
		return c.Project
	}
	return ""
}

// collect adds an entry to the directories in which it has a name of git's.
func collect(places map[string]*gitPlace, e gitconf.IndexEntry) error {
	for start, i := 0, 0; i <= len(e.Name); i++ {
		if i < len(e.Name) && e.Name[i] != '/' {
			continue
		}
		if start > 0 && gitsPart(e.Name[start:i]) {
			at := string(e.Name[:start-1])
			if places[at] == nil {
				if len(places) == maxGitPlaces {
					return fmt.Errorf("names of git's are in more than %d directories", maxGitPlaces)
				}
				places[at] = &gitPlace{parts: make(map[string]bool)}
			}
			places[at].parts[string(e.Name[start:i])] = true
			places[at].entries = append(places[at].entries, indexEntry{string(e.Name), string(e.Object), e.Mode})
		}
		start = i + 1
	}
	return nil
}

// gitsPart says whether a part of a path is a name in git directories that git acts on.
func gitsPart(part []byte) bool {
	switch string(part) {
	case "HEAD", "config", "config.worktree", "hooks", "info", "objects", "refs", "commondir", "logs", "packed-refs", "worktrees", "modules", "index":
		return true
	}
	return len(part) > 4 && part[0] < 'a' && (bytes.HasSuffix(part, []byte("_HEAD")) || bytes.HasSuffix(part, []byte("MSG")))
}

// entriesOf gives what an index has, nothing for what is none.
func entriesOf(text []byte, hash int) map[indexEntry]bool {
	all := make(map[indexEntry]bool)
	err := gitconf.IndexEntries(text, hash, func(e gitconf.IndexEntry) error {
		all[indexEntry{string(e.Name), string(e.Object), e.Mode}] = true
		return nil
	})
	if err != nil {
		clear(all)
	}
	return all
}

// lies says whether a file is what an entry of an index says: git leaves it as it is.
// Objects are named as in gitformat-pack(5): by the hash of "blob", the length and the
// content.
func (c *Config) lies(at string, e indexEntry, length int) bool {
	if e.mode&unix.S_IFMT != unix.S_IFREG || c.linkTo(at) != "" {
		return false
	}
	f, err := os.OpenFile(at, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxIndex || (st.Mode()&0o100 != 0) != (e.mode&0o100 != 0) {
		return false
	}
	var h hash.Hash = sha1.New()
	if length == gitconf.SHA256 {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", st.Size())
	n, err := io.Copy(h, io.LimitReader(f, maxIndex+1))
	return err == nil && n == st.Size() && string(h.Sum(nil)) == e.object
}
