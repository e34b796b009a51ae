package decide

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"carrel/internal/pathname"
	"carrel/internal/policy"
)

// Bounds on what is looked at: beyond them a place counts as one that is led.
const (
	maxLedLinks = 40
	maxLedFiles = 20_000
)

// led says whether programs inside can change what is at a place of the host, or any
// link or directory on the way there. Nothing is remembered from one question to the
// next: what was a directory may have become a link.
func (p *Decision) led(at string) bool {
	_, led := p.follow(at)
	return led
}

// follow is led, and says what is reached, "" where nothing is there.
func (p *Decision) follow(at string) (real string, led bool) {
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
		if p.writtenInside(next) {
			return "", true
		}
		st, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR): // who could make it?
			return "", p.writtenInside(path.Join(next, path.Join(rest...)))
		case err != nil:
			return "", true
		case st.Mode()&fs.ModeSymlink == 0:
			here = next
			continue
		}
		to, err := os.Readlink(next)
		if links++; err != nil || links > maxLedLinks {
			return "", true
		}
		if path.IsAbs(to) {
			here = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return here, false
}

// ledBelow is led of a place and of all that is below it, through links as well.
func (p *Decision) ledBelow(at string) bool {
	left, seen, todo := maxLedFiles, make(map[string]bool), []string{at}
	for len(todo) > 0 {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		real, led := p.follow(next)
		if led {
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
			} else if p.writtenInside(at) {
				return true
			}
		}
	}
	return false
}

// writtenInside says whether programs inside can write a place of the host that is
// reached without a link: by a rule, or where a directory of the host is put elsewhere.
func (p *Decision) writtenInside(at string) bool {
	d := p.Policy.Lookup(at)
	private := d.Rule != nil && d.Rule.Source.Layer == policy.LayerDefault && d.Rule.Path == p.Policy.Scope.Tmp // not the host's
	if d.Access == policy.Write && !private {
		return true
	}
	for _, b := range p.binds {
		if !b.ReadOnly && b.Source != "" && pathname.Within(at, b.Source) {
			return true
		}
	}
	return false
}
