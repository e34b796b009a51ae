//go:build linux

package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// thing is what is at a path.
type thing struct {
	kind    uint32
	about   string // mode, owner and attributes
	time    string // of the last change of the content
	content string // a digest, or the target of a link
	group   string // the first path of the same inode, where there are several
	ino     uint64
	size    int64
}

// tree is what is in the project, and beside it in a directory that no step may
// change but by a further name of one of its files. Paths are relative to the project.
type tree struct {
	things map[string]thing
	tokens map[string]bool // the texts of edits in it
}

// beyond is the directory beside the project.
const beyond = "../beside"

// token is the form of a text that an edit writes.
var token = regexp.MustCompile(`T[0-9]{4};`)

// look reads the whole tree.
func (w *world) look() *tree {
	w.t.Helper()
	t := &tree{make(map[string]thing), make(map[string]bool)}
	for _, top := range []string{".", beyond} {
		w.must(filepath.WalkDir(filepath.Join(w.project, top), func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(w.project, path)
			if err == nil {
				err = t.add(path, rel)
			}
			return err
		}))
	}
	first := make(map[uint64]string)
	for _, path := range t.paths() {
		if one := t.things[path]; first[one.ino] == "" {
			first[one.ino] = path
		} else {
			one.group = first[one.ino]
			t.things[path] = one
			leader := t.things[one.group]
			leader.group = one.group
			t.things[one.group] = leader
		}
	}
	return t
}

func (t *tree) add(path, rel string) error {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return err
	}
	one := thing{kind: st.Mode & syscall.S_IFMT, ino: st.Ino, size: st.Size, time: fmt.Sprintf("%d.%09d", st.Mtim.Sec, st.Mtim.Nsec),
		about: fmt.Sprintf("%o %d:%d", st.Mode, st.Uid, st.Gid) + attributesOf(path)}
	var text []byte
	var err error
	switch one.kind {
	case syscall.S_IFREG:
		text, err = os.ReadFile(path)
		one.content = fmt.Sprintf("%d %.8x", len(text), sha256.Sum256(text))
		if len(text) < 40 {
			one.content = fmt.Sprintf("%q", text)
		}
	case syscall.S_IFLNK:
		one.content, err = os.Readlink(path)
		text = []byte(one.content)
	}
	if bytes.IndexByte(text, 'T') >= 0 {
		for _, found := range token.FindAllString(string(text), -1) {
			t.tokens[found] = true
		}
	}
	t.things[rel] = one
	return err
}

func (t *tree) paths() []string { return slices.Sorted(maps.Keys(t.things)) }

// told is a thing as it is compared; the time of a directory only if exact.
func (t *tree) told(path string, exact bool) string {
	one, ok := t.things[path]
	switch {
	case !ok:
		return "nothing"
	case one.kind == syscall.S_IFDIR && !exact:
		return one.about
	}
	return strings.TrimRight(strings.Join([]string{one.about, one.time, one.content, one.group}, " "), " ")
}

// differences lists what is not as it should be, one path a line.
func (t *tree) differences(want *tree, exact bool) string {
	var b strings.Builder
	all := maps.Clone(t.things)
	maps.Copy(all, want.things)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if is, should := t.told(path, exact), want.told(path, exact); is != should {
			fmt.Fprintf(&b, "%q\n  is    %s\n  want  %s\n", path, is, should)
		}
	}
	return b.String()
}

// missing lists tokens that are in t and not in a later tree, but for those excused.
func (t *tree) missing(later *tree, excused map[string]bool) []string {
	var out []string
	for _, one := range slices.Sorted(maps.Keys(t.tokens)) {
		if !later.tokens[one] && !excused[one] {
			out = append(out, one)
		}
	}
	return out
}

// astray says what a command has changed outside the project that no step reached.
func (t *tree) astray(after *tree, reached map[uint64]bool) string {
	for _, path := range slices.Concat(t.paths(), after.paths()) {
		was, is := t.things[path], after.things[path]
		switch {
		case !strings.HasPrefix(path, beyond):
		case was.ino != is.ino || was.kind != is.kind:
			return fmt.Sprintf("%s is another file or gone", path)
		case reached[is.ino]:
		case was.about != is.about || was.time != is.time || was.content != is.content:
			return fmt.Sprintf("%s was %s and is %s", path, t.told(path, true), after.told(path, true))
		}
	}
	return ""
}

// under says whether a path is at another or below it.
func under(path, at string) bool { return path == at || strings.HasPrefix(path, at+"/") }

// sameWay says whether the directories that lead to a path are the same in some trees.
func sameWay(path string, trees ...*tree) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		for _, t := range trees {
			if t.things[dir].ino == 0 || t.things[dir].ino != trees[0].things[dir].ino {
				return false
			}
		}
		if dir == "." {
			return true
		}
	}
}

// alone says whether what is at a path and below it has no name elsewhere.
func (t *tree) alone(path string) bool {
	for at, what := range t.things {
		if under(at, path) && what.group != "" {
			return false
		}
	}
	return true
}

// elsewhere says whether what is at a path has another path in another tree.
func (t *tree) elsewhere(other *tree, path string) bool {
	one, ok := t.things[path]
	if ok {
		for at, what := range other.things {
			if at != path && what.ino == one.ino {
				return true
			}
		}
	}
	return false
}

// within gives the part of a tree that is at a path.
func (t *tree) within(path string) *tree {
	part := &tree{things: make(map[string]thing)}
	for at, one := range t.things {
		if under(at, path) {
			part.things[at] = one
		}
	}
	return part
}

// toldUndo is what an undo or redo says with --json.
type toldUndo struct {
	Done              bool
	Steps             []uint64
	Restored, Removed []json.RawMessage
	Unrestorable      []toldPath
	Conflicts         []toldPath
}

type toldPath struct {
	Path json.RawMessage
	Why  string
}

// lists are the paths of an answer in a form to compare.
func (u toldUndo) lists() (conflicts, rest string) {
	join := func(what string, list []string) string {
		slices.Sort(list)
		return what + " " + strings.Join(list, " ") + "\n"
	}
	var in, lost, restored, removed []string
	for _, c := range u.Conflicts {
		in = append(in, string(c.Path))
	}
	for _, l := range u.Unrestorable {
		lost = append(lost, string(l.Path))
	}
	for _, p := range u.Restored {
		restored = append(restored, string(p))
	}
	for _, p := range u.Removed {
		removed = append(removed, string(p))
	}
	return join("conflicts", in), join("restored", restored) + join("removed", removed) + join("unrestorable", lost)
}
