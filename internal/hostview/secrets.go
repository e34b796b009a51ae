package hostview

import (
	_ "embed"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/secrets"
)

//go:embed secrets.txt
var secretsText string

// secret is one line of secrets.txt.
type secret struct {
	kind   string
	place  string // as written: "~/.ssh", "$CONFIG/gh", "/etc/shadow*"
	reason string
}

// secretTable parses the embedded table on first use; a test holds its form.
var secretTable = sync.OnceValue(func() []secret { return parseSecrets(secretsText) })

func parseSecrets(text string) []secret {
	list := make([]secret, 0, 512)
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		kind, rest, ok := strings.Cut(line, " | ")
		place, reason, ok2 := strings.Cut(rest, " | ")
		if ok && ok2 {
			list = append(list, secret{kind: kind, place: place, reason: reason})
		}
	}
	return list
}

// secretIndex holds resolved secret places, to answer "is this below one".
type secretIndex map[string]bool

func (x secretIndex) covers(p string) bool {
	for ; p != "/" && p != "."; p = path.Dir(p) {
		if x[p] {
			return true
		}
	}
	return false
}

// secretFinder denies what holds secrets, in the known places and in the project.
type secretFinder struct {
	o      Options
	h      *host
	base   bases
	hidden secretIndex // resolved places, to keep toolchains out of them
	out    *collector
}

// known denies the known secrets that exist; in a home that is shown whole
// also those that do not exist yet: a program on the host may make them, and so
// may one inside, where home is granted for writing.
func (f *secretFinder) known() {
	whole := f.o.HomeMode == policy.HomeFull || f.o.HomeGranted
	f.listBusy()
	moved := f.base.moved()
	for _, s := range secretTable() {
		if moved {
			f.usualPlace(s)
		}
		if !whole && f.base.missing(f.h, s.place) {
			continue
		}
		p := f.base.expand(s.place)
		if p == "" {
			continue
		}
		switch pattern := strings.IndexByte(p, '*') >= 0; {
		case s.kind == "start" && whole:
			f.protect(p, s.reason)
		case pattern && s.kind == "values":
			f.denyPattern(p, s.reason, f.denyValues)
		case s.kind == "values":
			f.denyValues(p, s.reason)
		case pattern:
			f.denyPattern(p, s.reason, f.denyOne)
		default:
			f.deny(p, s.reason, s.kind != "system" && whole)
		}
	}
	if f.hidden.covers(f.o.Project) {
		f.out.note("the project %q lies in a place that holds secrets; they are visible inside it", f.o.Project)
	}
}

// usualPlace denies an entry of a base directory also at its usual place, where
// a variable has moved the base: both may hold the secret.
func (f *secretFinder) usualPlace(s secret) {
	first, rest, _ := strings.Cut(s.place, "/")
	usual := f.base.usual(first)
	if usual == "" || strings.IndexByte(rest, '*') >= 0 || f.base[first] == usual {
		return
	}
	if p := path.Join(usual, rest); s.kind == "values" {
		f.denyValues(p, s.reason)
	} else {
		f.deny(p, s.reason, false)
	}
}

// protect keeps a start file readable and unchanged in a home that is shown
// whole, also where somebody makes home writable, and from being made there.
func (f *secretFinder) protect(p, what string) {
	switch at := f.h.walk(p); {
	case strings.IndexByte(p, '*') >= 0, at.found && f.o.tooBroad(at.path):
	case at.found:
		f.out.rule(at.path, policy.Read, "protected: "+what)
	case f.o.HomeGranted:
		f.out.rule(p, policy.Read, "protected: "+what)
	}
}

// listBusy reads the directories that most entries lie in once, instead of
// asking for every entry.
func (f *secretFinder) listBusy() {
	for _, d := range f.base {
		if at := f.h.walk(d); at.isDir() {
			f.h.list(at.path)
		}
	}
}

// SecretPrefix begins the reason of each rule for a secret.
const SecretPrefix = "secret: "

// deny adds a rule for an existing path, and for what it leads to if it is a
// link. what says what it is; always adds the rule even if nothing is there.
func (f *secretFinder) deny(p, what string, always bool) {
	if !always && f.h.absent(p) {
		return
	}
	parent := f.h.walk(parentOf(p))
	if !parent.isDir() {
		if always {
			f.out.rule(p, policy.Deny, SecretPrefix+what)
		}
		return
	}
	real := strings.TrimSuffix(parent.path, "/") + p[strings.LastIndexByte(p, '/'):]
	e := f.h.lstat(real)
	if !e.exists && !always {
		return
	}
	f.out.rule(real, policy.Deny, SecretPrefix+what)
	f.hidden[real] = true
	if e.mode&fs.ModeSymlink != 0 {
		f.denyTarget(real, what)
	}
}

// denyTarget denies what a secret link leads to, unless that is a device (a
// history sent to /dev/null) or would hide far more than the secret.
func (f *secretFinder) denyTarget(link, what string) {
	at := f.h.walk(link)
	if !at.found || f.o.tooBroad(at.path) || contains(f.out.view.System, at.path) {
		return
	}
	if !at.isDir() && !at.isFile() {
		return
	}
	if pathname.Within(at.path, "/usr") || pathname.Within(at.path, "/nix/store") {
		return // public by nature, and what programs need
	}
	f.out.rule(at.path, policy.Deny, SecretPrefix+what)
	f.hidden[at.path] = true
}

// denyValues denies a file that programs inside need, if one of its values is a secret. What
// cannot be read is taken to hold one.
func (f *secretFinder) denyValues(p, what string) {
	at := f.h.walk(p)
	if !at.isFile() {
		return
	}
	if data, err := f.h.begin(at.path, secrets.MaxRead); err != nil || secrets.Holds(secrets.Values, data) {
		f.deny(p, what, false)
	}
}

// denyOne denies what exists.
func (f *secretFinder) denyOne(p, what string) { f.deny(p, what, false) }

// denyPattern denies the entries of one directory that match the last component.
func (f *secretFinder) denyPattern(p, what string, deny func(p, what string)) {
	dir, pattern := path.Split(p)
	parent := f.h.walk(path.Clean(dir))
	if !parent.isDir() {
		return
	}
	names := f.h.lists[parent.path]
	if names == nil {
		if _, ok := f.h.list(parent.path); !ok {
			f.out.note("%q is unreadable or too full to look for secrets in", parent.path)
			return
		}
		names = f.h.lists[parent.path]
	}
	var found []string
	for name := range names {
		if ok, err := path.Match(pattern, name); err == nil && ok {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	for _, name := range found {
		deny(path.Join(parent.path, name), what)
	}
}
