package dircache

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// later is a time at which what was made just now has been unchanged for long.
func later(n int) time.Time { return time.Now().Add(time.Duration(n) * time.Hour) }

// looked is what one walk has seen.
type looked struct {
	names  map[string][]string // of each directory that could be listed
	listed []string            // the directories that were read
	bytes  []byte
}

// walkAll goes through a tree. Names that begin with "-" do not matter.
func walkAll(t testing.TB, place, about string, old []byte, now time.Time) looked {
	t.Helper()
	w, err := Begin(place, about, old, now)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	out := looked{names: map[string][]string{}}
	type item struct {
		rel  string
		slot **Dir
	}
	for level := []item{{"", &w.Root}}; len(level) > 0; level = level[1:] {
		d := level[0]
		read := false
		dir, err := w.List(d.rel, d.slot, make([]byte, 4096), func(name string, _ bool) bool {
			read = true
			return name[0] != '-'
		})
		if read {
			out.listed = append(out.listed, d.rel)
		}
		if err != nil {
			continue
		}
		names := []string{}
		for i := range dir.Entries {
			e := &dir.Entries[i]
			names = append(names, fmt.Sprint(e.Name, " ", e.Dir))
			if e.Dir {
				level = append(level, item{path.Join(d.rel, e.Name), &e.Sub})
			}
		}
		slices.Sort(names)
		out.names[d.rel] = names
	}
	if w.usable && w.Root != nil {
		out.bytes = encode(w.Root, w.key, w.now, w.began)
	}
	settle()
	return out
}

// settle waits until the kernel's clock for files has gone on.
func settle() {
	var at, now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &at)
	for now = at; now == at; time.Sleep(time.Millisecond) {
		_ = unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now)
	}
}

func same(a, b looked) bool { return maps.EqualFunc(a.names, b.names, slices.Equal) }

// fill makes directories, which end in "/", and files.
func fill(t testing.TB, root string, names ...string) {
	t.Helper()
	for _, n := range names {
		err := os.MkdirAll(path.Dir(root+"/"+n+"x"), 0o755)
		if !strings.HasSuffix(n, "/") {
			err = errors.Join(err, os.WriteFile(root+"/"+n, nil, 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// places are directories in the file systems that there are here.
func places(t *testing.T) map[string]string {
	all := map[string]string{"temporary": t.TempDir()}
	if at, err := os.MkdirTemp("/dev/shm", "carrel-dircache-"); err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(at) })
		all["memory"] = at
	}
	return all
}

func known(t *testing.T, place string) bool {
	var st unix.Statfs_t
	if err := unix.Statfs(place, &st); err != nil {
		t.Fatal(err)
	}
	_, good := systems[uint64(uint32(st.Type))]
	return good
}

// TestWhatChangedIsListedAgain: a second walk sees what a fresh one sees, and reads the
// directories alone that changed.
func TestWhatChangedIsListedAgain(t *testing.T) {
	cases := map[string]struct {
		change func(at string) error
		listed string
	}{
		"nothing":                  {func(string) error { return nil }, ""},
		"a file is written":        {func(at string) error { return os.WriteFile(at+"/a/file", []byte("more"), 0o644) }, ""},
		"a file comes":             {func(at string) error { return os.WriteFile(at+"/a/b/new", nil, 0o644) }, "a/b"},
		"one that does not matter": {func(at string) error { return os.WriteFile(at+"/a/b/-", nil, 0o644) }, "a/b"},
		"a file goes":              {func(at string) error { return os.Remove(at + "/a/file") }, "a"},
		"a file has another name":  {func(at string) error { return os.Rename(at+"/a/file", at+"/a/name") }, "a"},
		"a file moves":             {func(at string) error { return os.Rename(at+"/a/file", at+"/c/file") }, "a c"},
		"a file is a directory now": {func(at string) error {
			return errors.Join(os.Remove(at+"/a/file"), os.Mkdir(at+"/a/file", 0o755), os.WriteFile(at+"/a/file/x", nil, 0o644))
		}, "a a/file"},
		"a name for another file": {func(at string) error { return os.Link(at+"/a/file", at+"/a/-") }, "a"},
		"a directory comes":       {func(at string) error { return os.MkdirAll(at+"/c/d/e", 0o755) }, "c c/d"},
		"two directories change places": {func(at string) error {
			return unix.Renameat2(unix.AT_FDCWD, at+"/a", unix.AT_FDCWD, at+"/c", unix.RENAME_EXCHANGE)
		}, ". a c c/b"},
		"a directory for another": {func(at string) error { return errors.Join(os.RemoveAll(at+"/a"), os.Rename(at+"/c", at+"/a")) }, ". a"},
		"a link for a directory": {func(at string) error {
			return errors.Join(os.Rename(at+"/a", at+"/-a"), os.Symlink("-a", at+"/a"))
		}, "."},
		"a mode":       {func(at string) error { return os.Chmod(at+"/a/b", 0o700) }, "a/b"},
		"a time":       {func(at string) error { return os.Chtimes(at+"/c", time.Unix(1, 0), time.Unix(1, 0)) }, "c"},
		"all of it":    {func(at string) error { return os.RemoveAll(at + "/a") }, "."},
		"a file's own": {func(at string) error { return os.Chmod(at+"/a/file", 0o600) }, ""},
	}
	for kind, place := range places(t) {
		for name, c := range cases {
			t.Run(kind+"/"+name, func(t *testing.T) {
				at := path.Join(place, strings.ReplaceAll(name, " ", "-"))
				fill(t, at, "a/b/f1", "a/b/-f2", "a/file", "c/f3", "-d/hidden")
				if !known(t, at) {
					t.Skip("no file system that is known")
				}
				first := walkAll(t, at, "", nil, later(1))
				if err := c.change(at); err != nil {
					t.Fatal(err)
				}
				second, fresh := walkAll(t, at, "", first.bytes, later(2)), walkAll(t, at, "", nil, later(2))
				if !same(second, fresh) {
					t.Errorf("got %v, want %v", second.names, fresh.names)
				}
				for i, rel := range second.listed {
					second.listed[i] = path.Clean(rel)
				}
				slices.Sort(second.listed)
				if got := strings.Join(second.listed, " "); got != c.listed {
					t.Errorf("listed %q, want %q", got, c.listed)
				}
			})
		}
	}
}

// TestDoubtIsListed: nothing is taken from an earlier walk where it may be wrong.
func TestDoubtIsListed(t *testing.T) {
	at := t.TempDir()
	fill(t, at, "a/f", "b/f")
	if !known(t, at) {
		t.Skip("no file system that is known")
	}
	var begun, last unix.Stat_t // of what was made: a, and then b
	if err := errors.Join(unix.Stat(at+"/a", &begun), unix.Stat(at+"/b", &last)); err != nil {
		t.Fatal(err)
	}
	earliest, latest := time.Unix(begun.Ctim.Unix()), time.Unix(last.Ctim.Unix())
	first := walkAll(t, at, "", nil, later(1))
	w, err := Begin(at, "", first.bytes, later(2))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	other := maps.Clone(w.before)
	for dev, s := range other {
		other[dev] = fileSystem{s.kind, s.id + 1}
	}
	root := *w.Root
	root.stamp.ino++
	for name, c := range map[string]struct {
		made, now time.Time // zero: later
		about     string
		bytes     []byte // nil: those of the first walk
		want      int
	}{
		"the canary":                    {want: 0},
		"another table":                 {about: "x", want: 3},
		"the clock went back":           {now: time.Now().Add(30 * time.Minute), want: 3},
		"changed a moment ago":          {made: earliest.Add(margin), want: 3},
		"changed long ago":              {made: latest.Add(margin + time.Nanosecond), want: 0},
		"changed in the future":         {made: earliest.Add(-time.Hour), want: 3},
		"another file system":           {bytes: encode(w.Root, w.key, other, later(1)), want: 3},
		"of which nothing was known":    {bytes: encode(w.Root, w.key, nil, later(1)), want: 3},
		"another inode":                 {bytes: encode(&root, w.key, w.before, later(1)), want: 1},
		"damaged":                       {bytes: first.bytes[:len(first.bytes)-1], want: 3},
		"one directory that is unknown": {bytes: encode(&Dir{Entries: w.Root.Entries}, w.key, w.before, later(1)), want: 1},
	} {
		old, now := c.bytes, c.now
		if old == nil {
			made := c.made
			if made.IsZero() {
				made = later(1)
			}
			old = walkAll(t, at, "", nil, made).bytes
		}
		if now.IsZero() {
			now = later(2)
		}
		if got := walkAll(t, at, c.about, old, now); len(got.listed) != c.want || !same(got, first) {
			t.Errorf("%s: listed %q, want %d: %v", name, got.listed, c.want, got.names)
		}
	}
}

// TestLooksBetweenChanges: whatever happens to a tree, a walk that begins with what the last
// one left sees what a fresh one sees.
func TestLooksBetweenChanges(t *testing.T) {
	for kind, place := range places(t) {
		n := 0
		t.Run(kind, rapid.MakeCheck(func(r *rapid.T) {
			n++
			at := fmt.Sprint(place, "/", n)
			fill(t, at, "a/b/c/x", "a/b/y", "b/a/x", "c/")
			var old []byte
			name := rapid.StringMatching(`[abcx](/[abcx]){0,3}`)
			for look := range rapid.IntRange(2, 5).Draw(r, "looks") {
				for range rapid.IntRange(0, 6).Draw(r, "changes") {
					from, to := path.Join(at, name.Draw(r, "from")), path.Join(at, name.Draw(r, "to"))
					switch rapid.IntRange(0, 8).Draw(r, "what") {
					case 0:
						_ = os.MkdirAll(from, 0o755)
					case 1:
						_ = os.WriteFile(from, []byte("x"), 0o644)
					case 2:
						_ = os.Rename(from, to)
					case 3:
						_ = unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_EXCHANGE)
					case 4:
						_ = os.RemoveAll(from)
					case 5:
						_ = os.Remove(from)
					case 6:
						_ = os.Symlink(to, from)
					case 7:
						_ = os.Link(from, to)
					case 8: // a directory for another with the same names
						_ = os.Rename(from, at+"/-aside")
						_ = os.CopyFS(from, os.DirFS(at+"/-aside"))
						_ = os.RemoveAll(at + "/-aside")
					}
				}
				got := walkAll(t, at, "", old, later(look+1))
				if fresh := walkAll(t, at, "", nil, later(look+1)); !same(got, fresh) {
					r.Fatalf("look %d: got %v, want %v", look, got.names, fresh.names)
				}
				old = got.bytes
			}
		}))
	}
}

// TestEncryptedNames: a directory with names that change with a key is never known.
func TestEncryptedNames(t *testing.T) {
	const bit = unix.STATX_ATTR_ENCRYPTED
	for _, c := range []struct {
		kind             uint64
		attributes, said uint64
		want             bool
	}{
		{unix.EXT4_SUPER_MAGIC, 0, bit, true}, {unix.EXT4_SUPER_MAGIC, bit, bit, false}, {unix.EXT4_SUPER_MAGIC, 0, 0, false},
		{unix.F2FS_SUPER_MAGIC, 0, 0, false}, {unix.XFS_SUPER_MAGIC, 0, 0, true},
		{unix.BTRFS_SUPER_MAGIC, bit, bit, false}, {unix.TMPFS_MAGIC, 0, 0, true},
	} {
		if got := plain(c.kind, c.attributes, c.said); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestOtherFileSystems: in one that is not known, nothing is remembered.
func TestOtherFileSystems(t *testing.T) {
	for i, old := 0, []byte(nil); i < 2; i++ {
		w, err := Begin("/proc", "", old, later(i+1))
		if err != nil {
			t.Fatal(err)
		}
		dir, err := w.List("sys", &w.Root, make([]byte, 4096), func(string, bool) bool { return true })
		if err != nil || len(dir.Entries) == 0 || dir.known || w.gain.Load() != 0 {
			t.Errorf("%+v, %v", dir, err)
		}
		old = encode(dir, w.key, w.now, w.began)
		w.Close()
	}
}

// TestErrorsAreKept: what cannot be listed is an error, and not what was there before.
func TestErrorsAreKept(t *testing.T) {
	at := t.TempDir()
	fill(t, at, "a/f", "file")
	w, err := Begin(at, "", nil, later(1))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	keep := func(string, bool) bool { return true }
	long := strings.Repeat("x/", unix.PathMax/2) + "x"
	for rel, want := range map[string]error{"none": unix.ENOENT, "file": unix.ENOTDIR, long: unix.ENAMETOOLONG} {
		slot := &Dir{known: true}
		if dir, err := w.List(rel, &slot, make([]byte, 4096), keep); !errors.Is(err, want) || dir != nil || slot != nil {
			t.Errorf("%.10s: %v, %v, %v", rel, dir, slot, err)
		}
	}
	if _, err := Begin(at+"/file", "", nil, later(1)); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("a file for the tree: %v", err)
	}
	if _, err := Begin(at+"/none", "", nil, later(1)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing for the tree: %v", err)
	}
}

// TestBytesAreMadeWhereItIsWorthIt: not for a small tree, and not for little.
func TestBytesAreMadeWhereItIsWorthIt(t *testing.T) {
	for _, c := range []struct {
		dirs, gain int64
		usable     bool
		want       bool
	}{
		{minDirs, minGain, true, true}, {minDirs - 1, minGain, true, false},
		{minDirs, minGain - 1, true, false}, {minDirs, minGain, false, false},
	} {
		w := newWalk("/x", nil, nil, later(0))
		w.usable, w.Root = c.usable, &Dir{}
		w.dirs.Store(c.dirs)
		w.gain.Store(c.gain)
		if got := w.Encode() != nil; got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
		if w.Root != nil {
			t.Errorf("%+v: the tree is kept", c)
		}
	}
}

// TestSurroundings: what the bytes are right for includes the place and what is asked, this
// start of the machine and this program.
func TestSurroundings(t *testing.T) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	var self unix.Stat_t
	if err := unix.Stat("/proc/self/exe", &self); err != nil {
		t.Fatal(err)
	}
	all := string(surroundings("/a", "b"))
	for _, part := range []any{strings.TrimSpace(string(boot)), self.Ino, self.Size, self.Ctim} {
		if !strings.Contains(all, fmt.Sprint(part)) {
			t.Errorf("%s: no %v", all, part)
		}
	}
	seen := map[string]bool{}
	for _, s := range [][]byte{surroundings("/a", "b"), surroundings("/b", "b"), surroundings("/a", "c"), surroundings("/a", "")} {
		if s == nil || seen[string(s)] {
			t.Errorf("%s", s)
		}
		seen[string(s)] = true
	}
}
