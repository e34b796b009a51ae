package view

import (
	"bytes"
	"path"
	"strings"

	"carrel/internal/policy"
	"carrel/internal/secrets"
)

// Bounds of the look at a project. What is beyond them is said in a note.
const (
	maxProjectDirs    = 50_000
	maxProjectSecrets = 2000
	maxProjectReads   = 4000 // files of which the content decides
)

// otherTrees are directories of what was installed or built: what looks like a secret
// there was published, or is in the project too.
var otherTrees = wordSet("node_modules", "bower_components", "vendor", "site-packages", "__pycache__", ".git", ".hg", ".svn", ".jj",
	"target", ".cache", ".tox", ".nox", ".venv", ".gradle", ".yarn", ".pnpm-store", ".mypy_cache", ".pytest_cache", ".ruff_cache", "Pods", "DerivedData")

// testTrees hold what only looks like a secret: there the content has to say more.
var testTrees = wordSet("testdata", "fixtures", "__fixtures__", "__tests__", "examples", "example", "docs")

// projectDir is a directory that is still to be looked at.
type projectDir struct {
	rel  string // below the project
	test bool   // in one of testTrees
}

// hit is a name that a row fits.
type hit struct {
	name string
	row  secrets.Row
}

// projectSecrets denies what holds secrets in the project, at any depth. Links to
// directories are not followed, and mount points are looked into.
func (in *inspector) projectSecrets() {
	at := in.h.walk(in.o.Project)
	if !at.isDir() {
		return
	}
	found, reads, dirs := 0, 0, 0
	queue, buf := []projectDir{{}}, make([]byte, 32<<10)
	for ; len(queue) > 0 && dirs < maxProjectDirs && found < maxProjectSecrets; dirs++ {
		d := queue[0]
		queue = queue[1:]
		var hits []hit
		venv, below := false, len(queue)
		err := listDir(in.h.root+path.Join(at.path, d.rel), buf, func(name string, dir bool) {
			if dir && !strings.HasPrefix(name, ".env") {
				if !otherTrees()[name] {
					queue = append(queue, projectDir{path.Join(d.rel, name), d.test || testTrees()[name]})
				}
				return
			}
			venv = venv || name == "pyvenv.cfg"
			if row := secrets.Match(d.rel, name); row.Test != secrets.Never && row.Test != secrets.Shown {
				hits = append(hits, hit{strings.Clone(name), row})
			}
		})
		if err != nil && d.rel == "" {
			in.note("the project %q is unreadable: no file of secrets could be looked for", in.o.Project)
		}
		if venv && d.rel != "" {
			queue = queue[:below] // a virtual environment
			continue
		}
		for _, h := range hits {
			if h.row.Test != secrets.ByName {
				reads++
			}
			if in.projectFile(path.Join(at.path, d.rel, h.name), h.row, d.test, reads > maxProjectReads) {
				found++
			}
		}
	}
	if len(queue) > 0 {
		in.note("the project %q was looked at for files of secrets in %d directories, and %d files were found: what is elsewhere is seen inside", in.o.Project, dirs, found)
	}
}

// projectFile denies a file that holds a secret, and says whether it did. What cannot be
// read is taken to hold one, and what is unread as there are too many.
//
// .envrc is code that direnv runs outside, and agents must read it to know how
// the project is built: it is protected from changes, and denied only where it
// assigns a variable whose name looks like a secret.
func (in *inspector) projectFile(p string, row secrets.Row, test, unread bool) bool {
	at := in.h.walk(p)
	switch {
	case at.isDir() && row.Test != secrets.Environment, at.isDir() && in.h.walk(path.Join(at.path, "pyvenv.cfg")).found:
		return false
	case !at.isFile(), unread:
	case path.Base(p) == ".envrc":
		if data, err := in.h.begin(at.path, secrets.MaxRead); err == nil && len(data) < secrets.MaxRead && !assignsSecret(data) {
			in.rule(p, policy.Read, "protected: direnv runs it outside")
			return false
		}
	case test || row.Test != secrets.ByName && row.Test != secrets.Environment:
		if data, err := in.h.begin(at.path, secrets.MaxRead); err == nil && !holds(row.Test, data, test) {
			return false
		}
	}
	in.deny(p, row.Reason, false)
	return true
}

// holds reports whether there is a secret in a file. test says that it lies where tests
// keep what only looks like one.
func holds(kind secrets.Test, data []byte, test bool) bool {
	switch {
	case !test:
		return secrets.Holds(kind, data)
	case kind == secrets.Environment:
		return secrets.Holds(secrets.Values, data)
	}
	return secrets.HoldsToken(data)
}

// assignsSecret finds "NAME=" at the start of a line, or after export, with a
// secret-looking name.
func assignsSecret(data []byte) bool {
	for line := range bytes.Lines(data) {
		s := strings.TrimSpace(string(line))
		s = strings.TrimSpace(strings.TrimPrefix(s, "export "))
		name, value, ok := strings.Cut(s, "=")
		if ok && value != "" && secrets.Variable(strings.TrimSpace(name)) {
			return true
		}
	}
	return false
}
