package review

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/review/replay"

	"golang.org/x/sys/unix"
)

// layered is a tree with a layer over it, whose upper directory the test fills as the kernel does.
type layered struct {
	*testing.T
	store *Store
	tree  string
	layer *Layer
	notes []string
}

// over makes a layer over the files of a tree. A name that ends with a slash is a directory.
func over(t *testing.T, files map[string]string) *layered {
	t.Helper()
	dir := realTemp(t)
	l := &layered{T: t, store: OpenStore(dir + "/state"), tree: dir + "/tree"}
	l.fill(l.tree, files)
	l.begin()
	return l
}

func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (l *layered) begin() {
	l.Helper()
	var err error
	l.layer, err = l.store.Make(Meta{Project: api.Text(l.tree), Trees: []api.Text{api.Text(l.tree)}, Command: []api.Text{"test"}},
		func(text string) { l.notes = append(l.notes, text) })
	l.ok(err)
	l.Cleanup(l.layer.Close)
}

func (l *layered) ok(errs ...error) {
	l.Helper()
	for _, err := range errs {
		if err != nil {
			l.Fatal(err)
		}
	}
}

func (l *layered) fill(dir string, files map[string]string) {
	l.Helper()
	l.ok(os.MkdirAll(dir, 0o755))
	for name, text := range files {
		at := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			l.ok(os.MkdirAll(at, 0o755))
			continue
		}
		l.ok(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644))
	}
}

// upper fills the layer as files that were written there, with the parents that the kernel copies.
func (l *layered) upper(files map[string]string) { l.fill(l.layer.Upper(0), files) }

func (l *layered) at(name string) string { return filepath.Join(l.layer.Upper(0), name) }

func (l *layered) whiteout(name string) {
	l.Helper()
	l.ok(os.MkdirAll(filepath.Dir(l.at(name)), 0o755), unix.Mknod(l.at(name), unix.S_IFCHR, 0))
}

func (l *layered) opaque(name, value string) {
	l.Helper()
	l.ok(os.MkdirAll(l.at(name), 0o755), unix.Lsetxattr(l.at(name), opaqueAttr, []byte(value), 0))
}

// diff compares.
func (l *layered) diff() *Diff {
	l.Helper()
	d, err := l.layer.Changes()
	l.ok(err)
	return d
}

// changes are those of the layer, one a line.
func (l *layered) changes() string {
	l.Helper()
	var out []string
	for _, c := range l.diff().Changes {
		line := string(c.What) + " " + c.Path
		if c.Conflict != "" {
			line += ", " + c.Conflict
		}
		if c.Refused != "" {
			line += ", " + c.Refused
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func (l *layered) want(lines ...string) {
	l.Helper()
	if got := l.changes(); got != strings.Join(lines, "\n") {
		l.Errorf("changes:\n%s\nwant:\n%s", got, strings.Join(lines, "\n"))
	}
}

func all(*Change) bool { return true }

// script is that of chosen changes.
func (l *layered) script(chosen func(*Change) bool) []byte {
	l.Helper()
	var out bytes.Buffer
	l.ok(l.layer.Script(l.diff(), chosen, &out))
	return out.Bytes()
}

// operations are those of a script.
func (l *layered) operations(chosen func(*Change) bool) (out []replay.Op) {
	l.Helper()
	text := l.script(chosen)
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		var op replay.Op
		l.ok(json.Unmarshal(line, &op))
		out, text = append(out, op), rest[op.Size:]
	}
	return out
}

// apply carries changes out, and gives what was said of it.
func (l *layered) apply(chosen func(*Change) bool) replay.Report {
	l.Helper()
	var out, errs bytes.Buffer
	old := unix.Umask(0o022)
	defer unix.Umask(old)
	if status := replay.Main(bytes.NewReader(l.script(chosen)), &out, &errs); status != 0 {
		l.Fatalf("status %d: %s", status, errs.String())
	}
	var r replay.Report
	l.ok(json.Unmarshal(out.Bytes(), &r))
	return r
}

// applied applies all, and wants nothing to be left.
func (l *layered) applied() {
	l.Helper()
	if r := l.apply(all); len(r.Failed) > 0 {
		l.Errorf("not applied: %+v", r.Failed)
	}
	l.want()
}

// files are the paths of the tree with what they hold.
func (l *layered) files() map[string]string {
	l.Helper()
	out := make(map[string]string)
	l.ok(filepath.WalkDir(l.tree, func(p string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(l.tree, p)
		switch {
		case err != nil || rel == ".":
			return err
		case e.Type() == fs.ModeSymlink:
			to, err := os.Readlink(p)
			out[rel] = "-> " + to
			return err
		case e.Type().IsRegular():
			text, err := os.ReadFile(p)
			out[rel] = string(text)
			return err
		}
		out[rel] = e.Type().String()
		return nil
	}))
	return out
}

func (l *layered) holds(name, text string) {
	l.Helper()
	if got, ok := l.files()[name]; !ok || got != text {
		l.Errorf("%q holds %q (there: %v), want %q", name, got, ok, text)
	}
}

func (l *layered) missing(names ...string) {
	l.Helper()
	files := l.files()
	for _, name := range names {
		if got, ok := files[name]; ok {
			l.Errorf("%q is there: %q", name, got)
		}
	}
}

func (l *layered) sameFile(names ...string) {
	l.Helper()
	first, err := os.Lstat(filepath.Join(l.tree, names[0]))
	l.ok(err)
	for _, name := range names[1:] {
		other, err := os.Lstat(filepath.Join(l.tree, name))
		l.ok(err)
		if !os.SameFile(first, other) {
			l.Errorf("%q and %q are two files", names[0], name)
		}
	}
}

// later makes sure that a change that follows has another time.
func later() { time.Sleep(15 * time.Millisecond) }

func paths(names ...string) func(*Change) bool {
	return func(c *Change) bool { return slices.Contains(names, c.Path) }
}
