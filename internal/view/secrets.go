package view

import (
	_ "embed"
	"io/fs"
	"path"
	"strings"
	"sync"

	"carrel/internal/policy"
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
// also those that do not exist yet, since a program on the host may make them.
func (in *inspector) secrets() {
	in.hidden = make(secretIndex, 64)
	in.listBusy()
	for _, s := range secretTable() {
		p := in.expand(s.place)
		if p == "" {
			continue
		}
		if s.kind == "start" && in.o.HomeMode == policy.HomeFull {
			in.protect(p, s.reason)
			continue
		}
		if strings.IndexByte(p, '*') >= 0 {
			in.denyPattern(p, "secret: "+s.reason)
			continue
		}
		in.deny(p, "secret: "+s.reason, s.kind != "system" && in.o.HomeMode == policy.HomeFull)
	}
	if in.hidden.covers(in.o.Project) {
		in.note("the project %q lies in a place that holds secrets; they are visible inside it", in.o.Project)
	}
}

// protect keeps an existing start file readable and unchanged in a home that is
// shown whole, also where somebody makes home writable.
func (in *inspector) protect(p, what string) {
	if at := in.h.walk(p); at.found && strings.IndexByte(p, '*') < 0 && !in.tooBroad(at.path) {
		in.rule(at.path, policy.Read, "protected: "+what)
	}
}

// listBusy reads the directories that most entries lie in once, instead of
// asking for every entry.
func (in *inspector) listBusy() {
	dirs := []string{"/etc"}
	if in.o.Home != "" {
		dirs = append(dirs, in.o.Home, in.expand("$CONFIG"), in.expand("$DATA"), in.expand("$CACHE"), in.expand("$STATE"))
	}
	for _, d := range dirs {
		if at := in.h.walk(d); at.isDir() {
			in.h.list(at.path)
		}
	}
}

// deny adds a rule for an existing path, and for what it leads to if it is a
// link. always adds the rule even if nothing is there.
func (in *inspector) deny(p, reason string, always bool) {
	parent := in.h.walk(path.Dir(p))
	if !parent.isDir() {
		if always {
			in.rule(p, policy.Deny, reason)
		}
		return
	}
	real := path.Join(parent.path, path.Base(p))
	e := in.h.lstat(real)
	if !e.exists && !always {
		return
	}
	in.rule(real, policy.Deny, reason)
	in.hidden[real] = true
	if e.mode&fs.ModeSymlink != 0 {
		in.denyTarget(real, reason)
	}
}

// denyTarget denies what a secret link leads to, unless that is a device (a
// history sent to /dev/null) or would hide far more than the secret.
func (in *inspector) denyTarget(link, reason string) {
	at := in.h.walk(link)
	if !at.found || in.tooBroad(at.path) || contains(in.view.System, at.path) {
		return
	}
	if !at.isDir() && !at.isFile() {
		return
	}
	if at.isFile() && in.inSystem(at.path) && !within(at.path, "/etc") {
		return // a link into /usr or the Nix store: public by nature
	}
	in.rule(at.path, policy.Deny, reason)
	in.hidden[at.path] = true
}

// denyPattern denies the entries of one directory that match the last component.
func (in *inspector) denyPattern(p, reason string) {
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
	for name := range names {
		if ok, err := path.Match(pattern, name); err == nil && ok {
			in.deny(path.Join(parent.path, name), reason, false)
		}
	}
}
