package view

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

// secrets denies the known secrets that exist; in a home that is shown whole
// also those that do not exist yet: a program on the host may make them, and so
// may one inside, where home is granted for writing.
func (in *inspector) secrets() {
	whole := in.o.HomeMode == policy.HomeFull || in.o.HomeGranted
	in.hidden = make(secretIndex, 64)
	in.listBusy()
	moved := in.basesMoved()
	for _, s := range secretTable() {
		if moved {
			in.usualPlace(s)
		}
		if !whole && in.missing(s.place) {
			continue
		}
		p := in.expand(s.place)
		if p == "" {
			continue
		}
		switch pattern := strings.IndexByte(p, '*') >= 0; {
		case s.kind == "start" && whole:
			in.protect(p, s.reason)
		case pattern && s.kind == "values":
			in.denyPattern(p, s.reason, denyValues)
		case s.kind == "values":
			denyValues(in, p, s.reason)
		case pattern:
			in.denyPattern(p, s.reason, denyOne)
		default:
			in.deny(p, s.reason, s.kind != "system" && whole)
		}
	}
	if in.hidden.covers(in.o.Project) {
		in.note("the project %q lies in a place that holds secrets; they are visible inside it", in.o.Project)
	}
}

// usualPlace denies an entry of a base directory also at its usual place, where
// a variable has moved the base: both may hold the secret.
func (in *inspector) usualPlace(s secret) {
	first, rest, _ := strings.Cut(s.place, "/")
	def := usualBases[first]
	if def == "" || in.o.Home == "" || strings.IndexByte(rest, '*') >= 0 || in.base[first] == path.Join(in.o.Home, def) {
		return
	}
	if p := path.Join(in.o.Home, def, rest); s.kind == "values" {
		denyValues(in, p, s.reason)
	} else {
		in.deny(p, s.reason, false)
	}
}

// protect keeps a start file readable and unchanged in a home that is shown
// whole, also where somebody makes home writable, and from being made there.
func (in *inspector) protect(p, what string) {
	switch at := in.h.walk(p); {
	case strings.IndexByte(p, '*') >= 0, at.found && in.tooBroad(at.path):
	case at.found:
		in.rule(at.path, policy.Read, "protected: "+what)
	case in.o.HomeGranted:
		in.rule(p, policy.Read, "protected: "+what)
	}
}

// listBusy reads the directories that most entries lie in once, instead of
// asking for every entry.
func (in *inspector) listBusy() {
	for _, d := range in.base {
		if at := in.h.walk(d); at.isDir() {
			in.h.list(at.path)
		}
	}
}

// SecretPrefix begins the reason of each rule for a secret.
const SecretPrefix = "secret: "

// deny adds a rule for an existing path, and for what it leads to if it is a
// link. what says what it is; always adds the rule even if nothing is there.
func (in *inspector) deny(p, what string, always bool) {
	if !always && in.h.absent(p) {
		return
	}
	parent := in.h.walk(parentOf(p))
	if !parent.isDir() {
		if always {
			in.rule(p, policy.Deny, SecretPrefix+what)
		}
		return
	}
	real := strings.TrimSuffix(parent.path, "/") + p[strings.LastIndexByte(p, '/'):]
	e := in.h.lstat(real)
	if !e.exists && !always {
		return
	}
	in.rule(real, policy.Deny, SecretPrefix+what)
	in.hidden[real] = true
	if e.mode&fs.ModeSymlink != 0 {
		in.denyTarget(real, what)
	}
}

// denyTarget denies what a secret link leads to, unless that is a device (a
// history sent to /dev/null) or would hide far more than the secret.
func (in *inspector) denyTarget(link, what string) {
	at := in.h.walk(link)
	if !at.found || in.tooBroad(at.path) || contains(in.view.System, at.path) {
		return
	}
	if !at.isDir() && !at.isFile() {
		return
	}
	if pathname.Within(at.path, "/usr") || pathname.Within(at.path, "/nix/store") {
		return // public by nature, and what programs need
	}
	in.rule(at.path, policy.Deny, SecretPrefix+what)
	in.hidden[at.path] = true
}

// denyValues denies a file that programs inside need, if one of its values is a secret. What
// cannot be read is taken to hold one.
func denyValues(in *inspector, p, what string) {
	at := in.h.walk(p)
	if !at.isFile() {
		return
	}
	if data, err := in.h.begin(at.path, secrets.MaxRead); err != nil || secrets.Holds(secrets.Values, data) {
		in.deny(p, what, false)
	}
}

// denyOne denies what exists.
func denyOne(in *inspector, p, what string) { in.deny(p, what, false) }

// denyPattern denies the entries of one directory that match the last component.
func (in *inspector) denyPattern(p, what string, deny func(in *inspector, p, what string)) {
	dir, pattern := path.Split(p)
	parent := in.h.walk(path.Clean(dir))
	if !parent.isDir() {
		return
	}
	names := in.h.lists[parent.path]
	if names == nil {
		if _, ok := in.h.list(parent.path); !ok {
			in.note("%q is unreadable or too full to look for secrets in", parent.path)
			return
		}
		names = in.h.lists[parent.path]
	}
	var found []string
	for name := range names {
		if ok, err := path.Match(pattern, name); err == nil && ok {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	for _, name := range found {
		deny(in, path.Join(parent.path, name), what)
	}
}
