package hostview

import (
	"bytes"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/dircache"
	"carrel/internal/policy"
	"carrel/internal/secrets"
)

// Bounds of the look at a project. A command could have made whatever is beyond them before
// it runs again: more directories are an error, and more files are hidden unread.
const (
	maxProjectDirs  = 300_000
	maxProjectReads = 4000     // files of which the content decides
	maxProjectBytes = 16 << 20 // of those: some seconds to look through
	maxProjectPath  = 3700     // bytes of a directory's path: what is in one has to be masked by its path, PATH_MAX
)

// unread counts down what may still be read in the look at a project.
type unread struct{ files, bytes int }

func (u *unread) over() bool { return u.files < 0 || u.bytes < 0 }

// otherTrees are directories of what was installed or built: what looks like a secret
// there was published, or is in the project too.
var otherTrees = wordSet("node_modules", "bower_components", "vendor", "site-packages", "__pycache__", ".git", ".hg", ".svn", ".jj",
	"target", ".cache", ".tox", ".nox", ".venv", "venv", ".gradle", ".yarn", ".pnpm-store", ".mypy_cache", ".pytest_cache", ".ruff_cache", "Pods", "DerivedData")

// testTrees hold what only looks like a secret: there the content has to say more.
var testTrees = wordSet("test", "tests", "testdata", "fixtures", "__fixtures__", "__tests__", "examples", "example", "docs")

// Unlooked is the reason of a rule for a directory that cannot be read.
const Unlooked = SecretPrefix + "files of secrets cannot be looked for in it"

// MaxDirectories bounds the directories that are told, which are watched for new files of secrets.
const MaxDirectories = 1000

// projectDir is a directory that is still to be looked at.
type projectDir struct {
	rel  string         // below the project
	test bool           // in one of testTrees
	slot **dircache.Dir // for what it holds
}

// hit is a name that a row fits.
type hit struct {
	name string
	row  secrets.Row
}

// inProject denies what holds secrets in the project, at any depth. Links to
// directories are not followed, and mount points are looked into. Of the root directory only
// the top is looked at.
//
// Nothing that a command could have done before may keep a later look from a secret: there
// is no file that stands for a tree to be left out, and a directory that its owner may not
// read is hidden.
func (f *secretFinder) inProject() error {
	at := f.h.walk(f.o.Project)
	if !at.isDir() {
		return nil
	}
	began := f.o.began
	if began.IsZero() {
		began = time.Now()
	}
	walk, err := dircache.Begin(f.h.root+at.path, secrets.Rules(), f.o.Looked, began)
	if err != nil {
		f.out.note(unreadableProject, f.o.Project)
		return nil
	}
	defer walk.Close()
	f.out.view.Looked = walk.Encode
	left, dirs := unread{maxProjectReads, maxProjectBytes}, 0
	for level := []projectDir{{slot: &walk.Root}}; len(level) > 0; {
		if dirs += len(level); dirs > maxProjectDirs {
			return fmt.Errorf("the project %q has more than %d directories: files of secrets cannot be looked for in all of them; start in a part of it", f.o.Project, maxProjectDirs)
		}
		var next []projectDir
		level = slices.DeleteFunc(level, func(d projectDir) bool {
			long := len(path.Join(at.path, d.rel)) > maxProjectPath
			if long {
				f.deny(path.Join(at.path, d.rel), strings.TrimPrefix(Unlooked, SecretPrefix), false)
			}
			return long
		})
		for i, l := range lookAll(walk, level, at.path != "/") {
			d := level[i]
			next = append(next, l.dirs...)
			if len(f.out.view.Directories) < MaxDirectories {
				f.out.view.Directories = append(f.out.view.Directories, path.Join(at.path, d.rel))
			}
			switch {
			case l.err != nil && d.rel == "":
				f.out.note(unreadableProject, f.o.Project)
			case l.err != nil: // it may be gone, and then nothing is denied
				f.deny(path.Join(at.path, d.rel), strings.TrimPrefix(Unlooked, SecretPrefix), false)
			}
			for _, name := range l.repositories {
				f.repository(path.Join(at.path, d.rel, name))
			}
			if l.bare() {
				f.repository(path.Join(at.path, d.rel))
			}
			if len(l.repositories) > 0 || l.leads || l.bare() {
				f.out.view.Repositories = append(f.out.view.Repositories, path.Join(at.path, d.rel))
			}
			for _, h := range l.hits {
				if h.row.Test != secrets.ByName {
					left.files--
				}
				f.projectFile(path.Join(at.path, d.rel, h.name), h.row, d.test, &left)
			}
		}
		level = next
	}
	return nil
}

const unreadableProject = "the project %q is unreadable: no file of secrets could be looked for"

// listing is what a directory of the project holds.
type listing struct {
	dirs         []projectDir
	hits         []hit
	repositories []string
	git          [3]bool // what every git directory has: HEAD, objects, refs
	leads        bool    // there is a .git that is no directory
	err          error
}

// bare reports whether a directory is one of git's by what is in it: a bare repository, or one
// that a .git file names.
func (l *listing) bare() bool { return l.git == [3]bool{true, true, true} }

// gitNames are what git takes a directory for one of its own by.
var gitNames = [3]string{"HEAD", "objects", "refs"}

// perThread is how many directories are worth a thread.
const perThread = 32

// lookAll lists directories of a walk, on several threads where there are many. deep says
// whether those in them are looked at too.
func lookAll(walk *dircache.Walk, list []projectDir, deep bool) []listing {
	out := make([]listing, len(list))
	var next atomic.Int64
	var threads sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(list)/perThread+1) {
		threads.Go(func() {
			buf := make([]byte, 32<<10)
			for i := next.Add(1) - 1; i < int64(len(list)); i = next.Add(1) - 1 {
				out[i] = list[i].look(walk, buf, deep)
			}
		})
	}
	threads.Wait()
	return out
}

// look makes a listing of the names that matter, which may be remembered ones: all that
// it says of a directory follows from them.
func (d projectDir) look(walk *dircache.Walk, buf []byte, deep bool) (l listing) {
	dir, err := walk.List(d.rel, d.slot, buf, func(name string, dir bool) bool { return matters(d.rel, name, dir, deep) })
	l.err = err
	if dir == nil {
		return l
	}
	for i := range dir.Entries {
		e := &dir.Entries[i]
		if i := slices.Index(gitNames[:], e.Name); i >= 0 {
			l.git[i] = true
		}
		if otherDir(e.Name, e.Dir) {
			if e.Name == ".git" {
				l.repositories = append(l.repositories, e.Name)
			}
			if walked(e.Name, deep) {
				l.dirs = append(l.dirs, projectDir{path.Join(d.rel, e.Name), d.test || testTrees()[e.Name], &e.Sub})
			}
			continue
		}
		l.leads = l.leads || e.Name == ".git"
		if row, hidden := secretRow(d.rel, e.Name); hidden {
			l.hits = append(l.hits, hit{e.Name, row})
		}
	}
	return l
}

// matters says whether something follows from a name in a directory.
func matters(rel, name string, dir, deep bool) bool {
	if name == ".git" || slices.Contains(gitNames[:], name) {
		return true
	}
	if otherDir(name, dir) {
		return walked(name, deep)
	}
	_, hidden := secretRow(rel, name)
	return hidden
}

// otherDir says whether a name is that of a directory in which secrets may be, and that is
// none itself.
func otherDir(name string, dir bool) bool { return dir && !strings.HasPrefix(name, ".env") }

// walked says whether such a directory is looked at, too.
func walked(name string, deep bool) bool {
	return !otherTrees()[name] && deep // else the project is the whole machine
}

// secretRow gives the row that fits a name, and whether such a file may be hidden.
func secretRow(rel, name string) (secrets.Row, bool) {
	row := secrets.Match(rel, name)
	return row, row.Test != secrets.Never && row.Test != secrets.Shown
}

// projectFile denies a file that holds a secret. What cannot be read is taken to hold one,
// and so is what stays unread as there is too much.
//
// .envrc is code that direnv runs outside, and agents must read it to know how
// the project is built: it is protected from changes, and denied only where it
// assigns a variable whose name looks like a secret.
func (f *secretFinder) projectFile(p string, row secrets.Row, test bool, left *unread) {
	at := f.h.walk(p)
	switch {
	case at.isDir() && row.Test != secrets.Environment, at.isDir() && f.h.walk(path.Join(at.path, "pyvenv.cfg")).found:
		return
	case !at.isFile(), left.over():
	case hides(path.Base(p), row, test, func() ([]byte, error) {
		data, err := f.h.begin(at.path, secrets.MaxRead)
		left.bytes -= len(data)
		return data, err
	}):
	case path.Base(p) == ".envrc":
		f.out.rule(p, policy.Read, "protected: direnv runs it outside")
		return
	default:
		return
	}
	f.deny(p, row.Reason, false)
}

// SecretFile says whether a file of a project holds a secret, and why. rel is its path
// below the project; read gives what it begins with, [secrets.MaxRead] bytes at most. What
// cannot be read is taken to hold one.
func SecretFile(rel string, read func() ([]byte, error)) (reason string, ok bool) {
	if IsGitConfig(rel) {
		return strings.TrimPrefix(Passwords, SecretPrefix), holdsPassword(read)
	}
	row := secrets.Match(path.Dir(rel), path.Base(rel))
	if row.Test == secrets.Never || row.Test == secrets.Shown {
		return "", false
	}
	test := false
	for dir := range strings.SplitSeq(path.Dir(rel), "/") {
		if otherTrees()[dir] {
			return "", false
		}
		test = test || testTrees()[dir]
	}
	return row.Reason, hides(path.Base(rel), row, test, read)
}

// Sheltered says whether less is looked for in a directory, by its path below the project:
// it is one of what was installed, or of tests.
func Sheltered(rel string) bool {
	for name := range strings.SplitSeq(rel, "/") {
		if otherTrees()[name] || testTrees()[name] {
			return true
		}
	}
	return false
}

// hides says whether a file that a row fits is hidden.
func hides(name string, row secrets.Row, test bool, read func() ([]byte, error)) bool {
	if name != ".envrc" && !test && (row.Test == secrets.ByName || row.Test == secrets.Environment) {
		return true
	}
	data, err := read()
	if name == ".envrc" {
		return err != nil || len(data) >= secrets.MaxRead || assignsSecret(data)
	}
	return err != nil || holds(row.Test, data, test)
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
