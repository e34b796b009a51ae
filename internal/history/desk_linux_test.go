package history

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/pathname"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// TestMain makes fewer cases of each property than rapid does by itself: one
// takes some tens of milliseconds. They are the same ones each time; the soak makes a
// thousand new ones.
func TestMain(m *testing.M) {
	checks, seed := "30", "1"
	if os.Getenv("CARREL_SOAK") == "1" {
		checks, seed = "1000", "0"
	}
	_ = flag.Set("rapid.checks", checks)
	_ = flag.Set("rapid.seed", seed)
	os.Exit(m.Run())
}

// desk is a root with a store, on one file system.
type desk struct {
	t     testing.TB
	root  string
	store *Store
	w     *Writer
	step  uint64 // that was begun last
	apart bool   // root and store are on two file systems
	opens bool   // who writes is known to open the file
	times bool   // what changes metadata sets times
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return newDeskAt(t, base, base)
}

// newDeskAt is a desk in two directories.
func newDeskAt(t testing.TB, base, store string) *desk {
	t.Helper()
	d := &desk{t: t, root: base + "/root"}
	err := os.Mkdir(d.root, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if d.store, err = Open(store + "/store"); err != nil {
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
	var err error
	if d.step, err = d.w.Begin(journal.Begin{Kind: journal.StepRun}); err != nil {
		t.Fatalf("begin: %v", err)
	}
}

func (d *desk) end(t fataler) {
	t.Helper()
	if _, err := d.w.End(0, nil); err != nil {
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
	c := Change{Op: op, Path: path, To: to, Opens: d.opens, Times: d.times}
	defer pinNames(&c)()
	if err := d.w.Before(&c); err != nil {
		t.Fatalf("before %v %q %q: %v", op, path, to, err)
	}
	_ = disk.Try("change")
	err := do()
	_ = disk.Try("changed")
	d.w.After(&c, err)
	if l, ok := t.(interface{ Logf(string, ...any) }); ok {
		l.Logf("%d %q %q: %v", op, path[len(d.root):], strings.TrimPrefix(to, d.root), err)
	}
}

// pinNames pins the names of a change as the broker does.
func pinNames(c *Change) (letGo func()) {
	pin := func(path string) (int, string) {
		if path == "" {
			return -1, ""
		}
		dir, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1, ""
		}
		return dir, filepath.Base(path)
	}
	c.Dir, c.ToDir = -1, -1
	if c.Op != Meta && c.Op != Link {
		c.Dir, c.Name = pin(c.Path)
	}
	c.ToDir, c.ToName = pin(c.To)
	what := func(dir int) journal.ID {
		if dir < 0 {
			return journal.ID{}
		}
		st, _ := disk.StateAt(dir, "", 0)
		return journal.ID{Dev: st.ID.Dev, Ino: st.ID.Ino}
	}
	c.In, c.ToIn = what(c.Dir), what(c.ToDir)
	return func() {
		unix.Close(c.Dir)
		unix.Close(c.ToDir)
	}
}

func (d *desk) at(name string) string { return d.root + "/" + name }

func (d *desk) write(t fataler, name, text string) {
	at := d.at(name)
	op := Content
	if _, err := os.Lstat(at); err != nil {
		op = Make
	}
	d.act(t, op, at, "", func() error { // never through a link: it is this machine's files that it leads to
		f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o644)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		return errors.Join(err, f.Close())
	})
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
	l, err := d.store.Survey()
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
			data := make([]byte, min(st.Size, 1<<20))
			if f, err := os.Open(at); err == nil {
				n, _ := io.ReadFull(f, data)
				data = data[:n]
				f.Close()
			}
			line += fmt.Sprintf(" %.20q %d %x", data, st.Size, crc32.ChecksumIEEE(data))
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

// random makes one change that may fail, as changes do.
func (d *desk) random(t *rapid.T) {
	// Files with several names are in TestUndoOneStep.
	names := []string{"a", "b", "dir", "dir/f", "dir/sub", "dir/sub/g", "dir/link", "b/x", "b/f", "b/sub/g", "empty", "dir/new", "pipe"}
	name := rapid.SampledFrom(names).Draw(t, "name")
	to := rapid.SampledFrom(names).Draw(t, "to")
	if d.behindLink(name) || d.behindLink(to) {
		return // the broker tells where it leads to
	}
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
		if !pathname.Within(d.at(to), d.at(name)) && !pathname.Within(d.at(name), d.at(to)) {
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

// behindLink says whether a symlink is on the way to a name.
func (d *desk) behindLink(name string) bool {
	dir := filepath.Dir(d.at(name))
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && real != dir
}

// kill lets go of a writer as a killed process does.
func (d *desk) kill() {
	d.w.Abandon()
	d.w = nil
}
