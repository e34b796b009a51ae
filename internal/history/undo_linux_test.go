package history

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// desk is a root with a store, on one file system.
type desk struct {
	t     testing.TB
	root  string
	store *Store
	w     *Writer
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, root: base + "/root"}
	if err := os.Mkdir(d.root, 0o755); err != nil {
		t.Fatal(err)
	}
	if d.store, err = Open(base + "/store"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = filepath.WalkDir(base, func(p string, e fs.DirEntry, _ error) error {
			if e != nil && e.IsDir() {
				_ = os.Chmod(p, 0o700)
			}
			return nil
		})
		d.store.Close()
	})
	return d
}

// fataler is a test or a drawn case of one.
type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func (d *desk) begin(t fataler) {
	t.Helper()
	if d.w == nil {
		w, err := d.store.NewWriter("test", []string{d.root})
		if err != nil {
			t.Fatalf("writer: %v", err)
		}
		d.w = w
	}
	if _, err := d.w.Begin(Begin{Kind: StepRun}); err != nil {
		t.Fatalf("begin: %v", err)
	}
}

func (d *desk) end(t fataler) {
	t.Helper()
	if err := d.w.End(0); err != nil {
		t.Fatalf("end: %v", err)
	}
}

func (d *desk) close(t fataler) {
	t.Helper()
	if err := d.w.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	d.w = nil
}

// act is a change as the broker makes it: told, made, told.
func (d *desk) act(t fataler, op Op, path, to string, do func() error) {
	t.Helper()
	c := Change{Op: op, Path: path, To: to}
	if err := d.w.Before(&c); err != nil {
		t.Fatalf("before %v %q %q: %v", op, path, to, err)
	}
	err := do()
	d.w.After(&c, err)
	if l, ok := t.(interface{ Logf(string, ...any) }); ok {
		l.Logf("%d %q %q: %v", op, path[len(d.root):], strings.TrimPrefix(to, d.root), err)
	}
}

func (d *desk) at(name string) string { return d.root + "/" + name }

func (d *desk) write(t fataler, name, text string) {
	at := d.at(name)
	op := Content
	if _, err := os.Lstat(at); err != nil {
		op = Make
	}
	d.act(t, op, at, "", func() error { return os.WriteFile(at, []byte(text), 0o644) })
}

func (d *desk) mkdir(t fataler, name string) {
	d.act(t, Make, d.at(name), "", func() error { return os.Mkdir(d.at(name), 0o755) })
}

func (d *desk) remove(t fataler, name string) {
	d.act(t, Remove, d.at(name), "", func() error { return os.Remove(d.at(name)) })
}

func (d *desk) removeAll(t fataler, name string) {
	entries, _ := os.ReadDir(d.at(name))
	for _, e := range entries {
		d.removeAll(t, name+"/"+e.Name())
	}
	d.remove(t, name)
}

func (d *desk) rename(t fataler, from, to string) {
	d.act(t, Rename, d.at(from), d.at(to), func() error { return os.Rename(d.at(from), d.at(to)) })
}

// undo takes steps back, newest first.
func (d *desk) undo(t fataler, req Request) (*Preview, error) {
	t.Helper()
	req.Roots = []string{d.root}
	return d.store.Undo(d.read(t), req)
}

func (d *desk) read(t fataler) *Log {
	t.Helper()
	l, err := d.store.Read()
	if err != nil || len(l.Damaged) > 0 {
		t.Fatalf("reading: %v %v", err, l)
	}
	return l
}

// snapshot is a tree as text: everything that an undo brings back.
func snapshot(t fataler, dir string) string {
	t.Helper()
	var out []string
	groups := make(map[uint64]string)
	var walk func(at string)
	walk = func(at string) {
		var st unix.Stat_t
		if err := unix.Lstat(at, &st); err != nil {
			t.Fatalf("%v", err)
		}
		line := fmt.Sprintf("%q %o %d:%d %d.%d", at[len(dir):], st.Mode, st.Uid, st.Gid, st.Mtim.Sec, st.Mtim.Nsec)
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			data, _ := os.ReadFile(at)
			line += fmt.Sprintf(" %.20q %d", data, len(data))
			if st.Nlink > 1 {
				if groups[st.Ino] != "" { // the history may hold names, too
					line += " = " + groups[st.Ino]
				} else {
					groups[st.Ino] = at[len(dir):]
				}
			}
		case unix.S_IFLNK:
			to, _ := os.Readlink(at)
			line += " -> " + to
		}
		buf := make([]byte, 100)
		if n, err := unix.Lgetxattr(at, "user.x", buf); err == nil {
			line += fmt.Sprintf(" user.x=%q", buf[:n])
		}
		out = append(out, line)
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			entries, err := os.ReadDir(at)
			if err != nil {
				t.Fatalf("%v", err)
			}
			for _, e := range entries {
				walk(at + "/" + e.Name())
			}
		}
	}
	walk(dir)
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// apart gives the lines in which two snapshots differ.
func apart(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	var out []string
	for _, l := range g {
		if !slices.Contains(w, l) {
			out = append(out, "got  "+l)
		}
	}
	for _, l := range w {
		if !slices.Contains(g, l) {
			out = append(out, "want "+l)
		}
	}
	return strings.Join(out, "\n")
}

// TestUndoOneStep: what a step destroyed in one way each comes back, and redo
// makes it again.
func TestUndoOneStep(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(t *testing.T, d *desk)
	}{
		{"a changed file", func(t *testing.T, d *desk) { d.write(t, "a", "other") }},
		{"a new file", func(t *testing.T, d *desk) { d.write(t, "new", "x") }},
		{"a removed file", func(t *testing.T, d *desk) { d.remove(t, "a") }},
		{"a removed empty file", func(t *testing.T, d *desk) { d.remove(t, "empty") }},
		{"a filled empty file", func(t *testing.T, d *desk) { d.write(t, "empty", "full") }},
		{"saved as editors do", func(t *testing.T, d *desk) { d.write(t, "a.tmp", "saved"); d.rename(t, "a.tmp", "a") }},
		{"rm -rf", func(t *testing.T, d *desk) { d.removeAll(t, "dir") }},
		{"a directory renamed and changed", func(t *testing.T, d *desk) {
			d.rename(t, "dir", "moved")
			d.write(t, "moved/f", "changed")
			d.write(t, "moved/new", "x")
			d.remove(t, "moved/sub/g")
		}},
		{"renamed away and back", func(t *testing.T, d *desk) {
			d.rename(t, "dir", "moved")
			d.write(t, "moved/f", "changed")
			d.rename(t, "moved", "dir")
		}},
		{"file becomes directory", func(t *testing.T, d *desk) { d.remove(t, "a"); d.mkdir(t, "a"); d.write(t, "a/x", "y") }},
		{"directory becomes file", func(t *testing.T, d *desk) { d.removeAll(t, "dir"); d.write(t, "dir", "file") }},
		{"file becomes link", func(t *testing.T, d *desk) {
			d.remove(t, "a")
			d.act(t, Make, d.at("a"), "", func() error { return os.Symlink("/etc/passwd", d.at("a")) })
		}},
		{"two files change places", func(t *testing.T, d *desk) {
			d.act(t, Exchange, d.at("a"), d.at("dir"), func() error {
				return unix.Renameat2(unix.AT_FDCWD, d.at("a"), unix.AT_FDCWD, d.at("dir"), unix.RENAME_EXCHANGE)
			})
		}},
		{"mode", func(t *testing.T, d *desk) {
			d.act(t, Meta, d.at("a"), "", func() error { return os.Chmod(d.at("a"), 0o400) })
		}},
		{"attribute", func(t *testing.T, d *desk) {
			d.act(t, Meta, d.at("a"), "", func() error { return unix.Setxattr(d.at("a"), "user.x", []byte("v"), 0) })
		}},
		{"a read-only directory", func(t *testing.T, d *desk) {
			d.write(t, "dir/f", "y")
			d.remove(t, "dir/sub/g")
			d.act(t, Meta, d.at("dir/sub"), "", func() error { return os.Chmod(d.at("dir/sub"), 0o500) })
		}},
		{"a name of a link group goes", func(t *testing.T, d *desk) { d.remove(t, "l1"); d.write(t, "l2", "through the other name") }},
		{"a second name", func(t *testing.T, d *desk) {
			d.act(t, Link, d.at("a"), d.at("second"), func() error { return os.Link(d.at("a"), d.at("second")) })
			d.write(t, "second", "written by it")
		}},
		{"a pipe", func(t *testing.T, d *desk) { d.remove(t, "pipe") }},
		{"odd names", func(t *testing.T, d *desk) { d.remove(t, "od\xffd\n"); d.mkdir(t, "-rf") }},
		{"everything", func(t *testing.T, d *desk) {
			d.rename(t, "dir", "x")
			d.rename(t, "a", "x/a")
			d.removeAll(t, "x")
			d.mkdir(t, "dir")
			d.write(t, "dir/f", "again")
			d.rename(t, "dir", "y")
			d.mkdir(t, "dir")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			d.fill(t)
			before := snapshot(t, d.root)
			d.begin(t)
			c.do(t, d)
			d.end(t)
			d.close(t)
			after := snapshot(t, d.root)
			if after == before {
				t.Fatal("nothing was changed")
			}
			step := d.read(t).Changes()[0].Number
			if _, err := d.undo(t, Request{Steps: []uint64{step}}); err != nil {
				t.Fatalf("undo: %v", err)
			}
			if got := snapshot(t, d.root); got != before {
				t.Fatalf("after undo:\n%s", apart(got, before))
			}
			l := d.read(t)
			u := l.Steps[len(l.Steps)-1]
			if u.Begin.Kind != StepUndo || !l.Undone(l.Step(step)) {
				t.Fatalf("the step is not marked: %+v", u.Begin)
			}
			if _, err := d.undo(t, Request{Steps: []uint64{u.Number}, Redo: true}); err != nil {
				t.Fatalf("redo: %v", err)
			}
			if got := snapshot(t, d.root); got != after {
				t.Fatalf("after redo:\n%s", apart(got, after))
			}
			if _, err := d.undo(t, Request{Steps: []uint64{step}}); err != nil {
				t.Fatalf("undo again: %v", err)
			}
			if got := snapshot(t, d.root); got != before {
				t.Fatalf("after a second undo:\n%s", apart(got, before))
			}
		})
	}
}

// fill makes the tree that the tests begin with.
func (d *desk) fill(t testing.TB) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(d.at("a"), []byte("content of a"), 0o640))
	must(os.WriteFile(d.at("empty"), nil, 0o600))
	must(os.MkdirAll(d.at("dir/sub"), 0o755))
	must(os.WriteFile(d.at("dir/f"), []byte("f"), 0o755))
	must(os.WriteFile(d.at("dir/sub/g"), bytes.Repeat([]byte("g"), 5000), 0o644))
	must(os.Symlink("f", d.at("dir/link")))
	must(os.WriteFile(d.at("l1"), []byte("linked"), 0o644))
	must(os.Link(d.at("l1"), d.at("l2")))
	must(unix.Mkfifo(d.at("pipe"), 0o600))
	must(os.WriteFile(d.at("od\xffd\n"), []byte("odd"), 0o644))
	must(unix.Setxattr(d.at("dir/f"), "user.x", []byte("kept"), 0))
	for _, name := range []string{"a", "dir/f", "dir/sub/g", "dir/sub", "dir", "l1", "."} {
		ts := []unix.Timespec{{Sec: 1e9, Nsec: 7}, {Sec: 1e9, Nsec: int64(len(name))*1000 + 1}}
		must(unix.UtimesNanoAt(unix.AT_FDCWD, d.at(name), ts, 0))
	}
}

// TestUndoRefusesWhatOthersChanged: nothing at all is changed then.
func TestUndoRefusesWhatOthersChanged(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	d.begin(t)
	d.write(t, "a", "by the step")
	d.remove(t, "dir/f")
	d.mkdir(t, "made")
	d.end(t)
	d.close(t)
	if err := os.WriteFile(d.at("a"), []byte("by the user"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.at("made/mine"), []byte("by the user"), 0o640); err != nil {
		t.Fatal(err)
	}
	now := snapshot(t, d.root)
	step := d.read(t).Changes()[0].Number
	_, err := d.undo(t, Request{Steps: []uint64{step}})
	var c *ConflictError
	if !errors.As(err, &c) || len(c.Conflicts) != 2 || c.Conflicts[0].Path != d.at("a") && c.Conflicts[1].Path != d.at("a") {
		t.Fatalf("undo over a change of somebody else: %v", err)
	}
	if got := snapshot(t, d.root); got != now {
		t.Fatalf("a refused undo changed something:\n%s", apart(got, now))
	}
	if _, err := d.undo(t, Request{Steps: []uint64{step}, Mode: Force}); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(d.at("a")); string(got) != "content of a" {
		t.Errorf("forced: %q", got)
	}
	l := d.read(t)
	if _, err := d.undo(t, Request{Steps: []uint64{l.Steps[len(l.Steps)-1].Number}, Redo: true}); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(d.at("a")); string(got) != "by the user" {
		t.Errorf("force was taken back: %q", got)
	}
}

// TestUndoRandom: any number of random steps, taken back at once, one by one or
// in parts and made again, give the trees that were there.
func TestUndoRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		d.fill(t)
		trees := []string{snapshot(rt, d.root)}
		n := rapid.IntRange(1, 3).Draw(rt, "steps")
		for range n {
			d.begin(rt)
			for range rapid.IntRange(1, 12).Draw(rt, "changes") {
				d.random(rt)
			}
			d.end(rt)
			trees = append(trees, snapshot(rt, d.root))
		}
		d.close(rt)
		l := d.read(rt)
		var steps []uint64
		for _, s := range slices.Backward(l.Changes()) {
			steps = append(steps, s.Number)
		}
		k := rapid.IntRange(1, len(steps)).Draw(rt, "taken back")
		if rapid.Bool().Draw(rt, "at once") {
			if _, err := d.undo(rt, Request{Steps: steps[:k]}); err != nil {
				rt.Fatalf("undo %d: %v", k, err)
			}
		} else {
			for _, s := range steps[:k] {
				if _, err := d.undo(rt, Request{Steps: []uint64{s}}); err != nil {
					rt.Fatalf("undo of %d: %v", s, err)
				}
			}
		}
		if got, want := snapshot(rt, d.root), trees[len(trees)-1-k]; got != want {
			rt.Fatalf("after undo of %d of %d:\n%s", k, n, apart(got, want))
		}
		l = d.read(rt)
		for i := 0; i < k; i++ {
			if _, err := d.undo(rt, Request{Steps: []uint64{l.Steps[len(l.Steps)-1-i].Number}, Redo: true}); err != nil {
				rt.Fatalf("redo: %v", err)
			}
			if got, want := snapshot(rt, d.root), trees[len(trees)-k+i]; got != want {
				rt.Fatalf("after redo %d:\n%s", i+1, apart(got, want))
			}
		}
	})
}

// random makes one change that may fail, as changes do.
func (d *desk) random(t *rapid.T) {
	// Files with several names are in TestUndoOneStep.
	names := []string{"a", "b", "dir", "dir/f", "dir/sub", "dir/sub/g", "dir/link", "b/x", "b/f", "b/sub/g", "empty", "dir/new", "pipe"}
	name := rapid.SampledFrom(names).Draw(t, "name")
	to := rapid.SampledFrom(names).Draw(t, "to")
	st, err := os.Lstat(d.at(name))
	file := err == nil && st.Mode().IsRegular()
	switch rapid.IntRange(0, 8).Draw(t, "op") {
	case 0, 1:
		if file || err != nil {
			d.write(t, name, rapid.StringN(0, 6, -1).Draw(t, "text"))
		}
	case 2:
		d.remove(t, name)
	case 3:
		if err == nil {
			d.removeAll(t, name)
		}
	case 4, 5:
		if !within(d.at(to), d.at(name)) && !within(d.at(name), d.at(to)) {
			d.rename(t, name, to)
		}
	case 6:
		if err != nil {
			d.mkdir(t, name)
		}
	case 7:
		if file {
			d.act(t, Meta, d.at(name), "", func() error { return os.Chmod(d.at(name), 0o600) })
		}
	case 8:
		if err != nil {
			d.act(t, Make, d.at(name), "", func() error { return os.Symlink("f", d.at(name)) })
		}
	}
}

// TestRecover: after a kill at any moment of a step, the next who comes closes it,
// and it can be taken back like any other.
func TestRecover(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		d.fill(t)
		before := snapshot(rt, d.root)
		d.begin(rt)
		for range rapid.IntRange(1, 12).Draw(rt, "changes") {
			d.random(rt)
		}
		after := snapshot(rt, d.root)
		d.kill()
		closed, err := d.store.Recover([]string{d.root})
		if err != nil || len(closed) != 1 {
			rt.Fatalf("recovering: %v %v", closed, err)
		}
		if got := snapshot(rt, d.root); got != after {
			rt.Fatalf("recovering changed the tree:\n%s", apart(got, after))
		}
		if again, err := d.store.Recover([]string{d.root}); err != nil || len(again) > 0 {
			rt.Fatalf("recovering a second time: %v %v", again, err)
		}
		l := d.read(rt)
		if len(l.Steps) != 1 || l.Steps[0].End == nil || !l.Steps[0].End.Interrupted {
			rt.Fatalf("steps: %+v", l.Steps)
		}
		if _, err := d.undo(rt, Request{Steps: closed}); err != nil {
			rt.Fatalf("undo: %v", err)
		}
		if got := snapshot(rt, d.root); got != before {
			rt.Fatalf("after undo:\n%s", apart(got, before))
		}
	})
}

// kill lets go of a writer as a killed process does.
func (d *desk) kill() {
	d.w.log.unmap() // the lock lasts as long as the mapping
	d.w.abandon()
	d.w = nil
}
