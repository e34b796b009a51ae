// Package hostwritable reports whether programs inside can change what is at a place of the
// host, or where a link on the way leads: what opens a link on the host, which key is used,
// where a log goes. What they can change chooses nothing outside.
//
// It looks at the disk when it is asked, each time, and opens no file.
package hostwritable

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// Bounds on what is looked at: beyond them a place counts as writable.
const (
	maxLinks = 40
	maxFiles = 20_000
)

// Grants are what programs inside may write.
type Grants struct {
	Policy *policy.Effective
	Binds  []sandbox.Mount // directories of the host that are put elsewhere
}

// At says whether programs inside can change what is at a place of the host, or any
// link or directory on the way there. Nothing is remembered from one question to the
// next: what was a directory may have become a link.
func (g Grants) At(at string) bool {
	_, writable := g.follow(at)
	return writable
}

// follow is At, and says what is reached, "" where nothing is there.
func (g Grants) follow(at string) (real string, writable bool) {
	if !path.IsAbs(at) {
		return "", true
	}
	here, rest, links := "/", strings.Split(at, "/"), 0 // not cleaned: what `..` leads out of may be a link
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == "" || name == "." || name == ".." {
			here = path.Join(here, name)
			continue
		}
		next := path.Join(here, name)
		if g.writtenInside(next) {
			return "", true
		}
		st, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR): // who could make it?
			return "", g.writtenInside(path.Join(next, path.Join(rest...)))
		case err != nil:
			return "", true
		case st.Mode()&fs.ModeSymlink == 0:
			here = next
			continue
		}
		to, err := os.Readlink(next)
		if links++; err != nil || links > maxLinks {
			return "", true
		}
		if path.IsAbs(to) {
			here = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return here, false
}

// Below is At of a place and of all that is below it, through links as well.
func (g Grants) Below(at string) bool {
	left, seen, todo := maxFiles, make(map[string]bool), []string{at}
	for len(todo) > 0 {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		real, writable := g.follow(next)
		if writable {
			return true
		}
		if real == "" || seen[real] {
			continue
		}
		seen[real] = true
		entries, err := os.ReadDir(real)
		if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrPermission) {
			continue // a file; what we cannot read, the program cannot
		}
		if left -= len(entries); err != nil || left < 0 {
			return true
		}
		for _, e := range entries {
			if at := path.Join(real, e.Name()); e.IsDir() || e.Type()&fs.ModeSymlink != 0 {
				todo = append(todo, at)
			} else if g.writtenInside(at) {
				return true
			}
		}
	}
	return false
}

// writtenInside says whether programs inside can write a place of the host that is
// reached without a link: by a rule, or where a directory of the host is put elsewhere.
func (g Grants) writtenInside(at string) bool {
	d := g.Policy.Lookup(at)
	private := d.Rule != nil && d.Rule.Source.Layer == policy.LayerDefault && d.Rule.Path == g.Policy.Scope.Tmp // not the host's
	if d.Access == policy.Write && !private {
		return true
	}
	for _, b := range g.Binds {
		if !b.ReadOnly && b.Source != "" && pathname.Within(at, b.Source) {
			return true
		}
	}
	return false
}
