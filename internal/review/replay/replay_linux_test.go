package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// tree is a directory in which operations are done.
type tree struct {
	*testing.T
	dir string
	out bytes.Buffer
	w   *Writer
}

func newTree(t *testing.T, files map[string]string) *tree {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &tree{T: t, dir: dir}
	r.w = NewWriter(&r.out)
	for name, text := range files {
		r.ok(os.MkdirAll(filepath.Dir(r.at(name)), 0o755), os.WriteFile(r.at(name), []byte(text), 0o644))
	}
	r.ok(r.w.Add(&Op{Do: DoTree, Path: []byte(dir)}, nil))
	return r
}

func (r *tree) at(name string) string { return filepath.Join(r.dir, name) }

func (r *tree) ok(errs ...error) {
	r.Helper()
	for _, err := range errs {
		if err != nil {
			r.Fatal(err)
		}
	}
}

// now is what is at a name.
func (r *tree) now(name string) Stat {
	r.Helper()
	var st unix.Stat_t
	if unix.Lstat(r.at(name), &st) != nil {
		return Stat{}
	}
	kind := map[uint32]Kind{unix.S_IFREG: File, unix.S_IFDIR: Dir, unix.S_IFLNK: Symlink, unix.S_IFIFO: Fifo}[st.Mode&unix.S_IFMT]
	return Stat{Kind: kind, Perm: st.Mode & 0o7777, Size: st.Size, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(), Ino: st.Ino,
		Nlink: uint64(st.Nlink)}
}

// add writes an operation on what is there now.
func (r *tree) add(do, name, content string, more ...func(*Op)) {
	r.Helper()
	op := &Op{Do: do, Path: []byte(name), Was: r.now(name), Perm: 0o640, Mtime: 1e18 + 7, Size: int64(len(content))}
	for _, f := range more {
		f(op)
	}
	r.ok(r.w.Add(op, strings.NewReader(content)))
}

// run does all that was written.
func (r *tree) run() Report {
	r.Helper()
	r.ok(r.w.End())
	var out, errs bytes.Buffer
	old := unix.Umask(0o022)
	defer unix.Umask(old)
	if status := Main(&r.out, &out, &errs); status != 0 {
		r.Fatalf("status %d: %s", status, errs.String())
	}
	var report Report
	r.ok(json.Unmarshal(out.Bytes(), &report))
	return report
}

func (r *tree) holds(name, text string) {
	r.Helper()
	if got, err := os.ReadFile(r.at(name)); err != nil || string(got) != text {
		r.Errorf("%q holds %q, %v, want %q", name, got, err, text)
	}
}

func to(name string) func(*Op) { return func(op *Op) { op.To = []byte(name) } }

// TestOperations: each does what it says.
func TestOperations(t *testing.T) {
	r := newTree(t, map[string]string{"a": "a", "w": "long content", "gone": "g", "l": "file", "dir/in": "in"})
	r.ok(os.Link(r.at("w"), r.at("w2")), os.Mkdir(r.at("empty"), 0o755))
	r.add(DoFile, "a", "new")
	r.add(DoFile, "n", "")
	r.add(DoWrite, "w", "short")
	r.add(DoSymlink, "l", "", to("../x"))
	r.add(DoFifo, "p", "")
	r.add(DoLink, "dir/b", "", to("a"))
	r.add(DoRemove, "gone", "")
	r.add(DoRmdir, "empty", "")
	r.add(DoMkdir, "m", "")
	r.add(DoMkdir, "m/m", "")
	r.add(DoMeta, "dir/in", "", func(op *Op) { op.Perm = 0o4600; op.Xattrs = map[string][]byte{"user.x": []byte("1")} })
	r.add(DoDir, "m", "", func(op *Op) { op.Was = Stat{Kind: Dir}; op.Perm = 0o711 })
	if got := r.run(); len(got.Failed) > 0 || got.Done != 12 {
		t.Errorf("%+v", got)
	}
	r.holds("a", "new")
	r.holds("n", "")
	r.holds("w2", "short")
	r.holds("dir/b", "new")
	for name, want := range map[string]uint32{"a": 0o640, "p": 0o640, "dir/in": 0o4600, "m": 0o711} {
		if st := r.now(name); st.Perm != want || st.Mtime != 1e18+7 {
			t.Errorf("%s: %#o, time %d", name, st.Perm, st.Mtime)
		}
	}
	if target, err := os.Readlink(r.at("l")); target != "../x" {
		t.Errorf("%q %v", target, err)
	}
	for _, name := range []string{"gone", "empty"} {
		if r.now(name).Kind != None {
			t.Errorf("%s is there", name)
		}
	}
}

// TestChangedMeanwhile: what is not as it was when the operation was planned stays as it is.
func TestChangedMeanwhile(t *testing.T) {
	for name, change := range map[string]func(r *tree){
		"other bytes":  func(r *tree) { r.ok(os.WriteFile(r.at("a"), []byte("yours"), 0o644)) },
		"another file": func(r *tree) { r.ok(os.WriteFile(r.at("b"), []byte("yours"), 0o644), os.Rename(r.at("b"), r.at("a"))) },
		"a link":       func(r *tree) { r.ok(os.Remove(r.at("a")), os.Symlink("elsewhere", r.at("a"))) },
		"nothing":      func(r *tree) { r.ok(os.Remove(r.at("a"))) },
		"a directory":  func(r *tree) { r.ok(os.Remove(r.at("a")), os.Mkdir(r.at("a"), 0o755)) },
		"a mode":       func(r *tree) { r.ok(os.Chmod(r.at("a"), 0o600)) },
	} {
		for _, do := range []string{DoFile, DoWrite, DoSymlink, DoRemove, DoMeta, DoLink} {
			t.Run(name+" "+do, func(t *testing.T) {
				r := newTree(t, map[string]string{"a": "a", "other": "o", "elsewhere": "canary"})
				content := ""
				if do == DoFile || do == DoWrite {
					content = "mine"
				}
				r.add(do, "a", content, to("other"))
				change(r)
				was := r.now("a")
				if got := r.run(); len(got.Failed) != 1 || got.Done != 0 {
					t.Errorf("%+v", got)
				}
				if now := r.now("a"); now != was {
					t.Errorf("%+v, was %+v", now, was)
				}
				r.holds("elsewhere", "canary")
			})
		}
	}
}

// TestNoWayOut: no path leads out of the tree, by a link or by its name.
func TestNoWayOut(t *testing.T) {
	out, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := newTree(t, map[string]string{"a": "a"})
	r.ok(os.Symlink(out, r.at("link")))
	rel, err := filepath.Rel(r.dir, out)
	r.ok(err)
	r.add(DoFile, "link/x", "x", func(op *Op) { op.Was = Stat{} })
	r.add(DoMkdir, rel+"/x", "", func(op *Op) { op.Was = Stat{} })
	r.add(DoLink, "b", "", to("link/x"))
	if got := r.run(); len(got.Failed) != 3 {
		t.Errorf("%+v", got)
	}
	if entries, err := os.ReadDir(out); err != nil || len(entries) > 0 {
		t.Errorf("%v %v", entries, err)
	}
}

// TestClosedDirectories: one whose mode keeps the user out is opened for the change, and closed
// again.
func TestClosedDirectories(t *testing.T) {
	r := newTree(t, map[string]string{"d/e/a": "a"})
	r.add(DoFile, "d/e/a", "b")
	r.add(DoFile, "d/e/n", "n")
	r.ok(os.Chmod(r.at("d/e"), 0o500), os.Chmod(r.at("d"), 0o500))
	got := r.run()
	if len(got.Failed) > 0 || r.now("d").Perm != 0o500 || r.now("d/e").Perm != 0o500 {
		t.Errorf("%+v %+v %+v", got, r.now("d"), r.now("d/e"))
	}
	r.ok(os.Chmod(r.at("d"), 0o700), os.Chmod(r.at("d/e"), 0o700))
	r.holds("d/e/a", "b")
	r.holds("d/e/n", "n")
}

// TestMissingDirectory: what lies in a directory that could not be made is told as that.
func TestMissingDirectory(t *testing.T) {
	r := newTree(t, map[string]string{"d": "in the way"})
	none := func(op *Op) { op.Was = Stat{} }
	r.add(DoMkdir, "d", "", none)
	r.add(DoFile, "d/a", "a", none)
	r.add(DoDir, "d", "", func(op *Op) { op.Was = Stat{Kind: Dir} })
	r.add(DoFile, "e", "e", none)
	got := r.run()
	if len(got.Failed) != 2 || got.Done != 1 || !strings.Contains(got.Failed[1].Why, `"d" could not be made`) {
		t.Errorf("%+v", got)
	}
}

// TestGitLock: a ref is changed under git's own lock, and not while git holds it.
func TestGitLock(t *testing.T) {
	ref := func(op *Op) { op.Git, op.Ref = []byte(".git/"), true }
	r := newTree(t, map[string]string{".git/refs/heads/a": "1", ".git/refs/heads/b": "1", ".git/refs/heads/b.lock": ""})
	r.add(DoFile, ".git/refs/heads/a", "2", ref)
	r.add(DoFile, ".git/refs/heads/b", "2", ref)
	got := r.run()
	if len(got.Failed) != 1 || !strings.Contains(got.Failed[0].Why, "git holds the lock") {
		t.Errorf("%+v", got)
	}
	r.holds(".git/refs/heads/a", "2")
	r.holds(".git/refs/heads/b", "1")
	r.holds(".git/refs/heads/b.lock", "")
	if r.now(".git/refs/heads/a.lock").Kind != None {
		t.Error("the lock stays")
	}
}

// TestCutInput: what ends too soon is an error, and leaves no half file.
func TestCutInput(t *testing.T) {
	r := newTree(t, map[string]string{"a": "a"})
	r.add(DoFile, "a", strings.Repeat("new", 100))
	r.ok(r.w.End())
	whole := r.out.Bytes()
	for n := range len(whole) {
		var out, errs bytes.Buffer
		if status := Main(bytes.NewReader(whole[:n]), &out, &errs); status != 1 || out.Len() > 0 {
			t.Fatalf("cut after %d of %d bytes: status %d, %q", n, len(whole), status, out.String())
		}
		if st := r.now("a"); st.Kind != File || st.Size != 1 && st.Size != 300 {
			t.Fatalf("cut after %d bytes: %+v", n, st)
		}
		entries, err := os.ReadDir(r.dir)
		if err != nil || len(entries) != 1 {
			t.Fatalf("cut after %d bytes: %v %v", n, entries, err)
		}
	}
}

// TestBadInput: what is no operation ends it.
func TestBadInput(t *testing.T) {
	for _, text := range []string{"", "\n", "{}\n", `{"do":"explode"}` + "\n", `{"do":"file","size":-1}` + "\n",
		`{"do":"tree","path":"L25vdGhpbmcvdGhlcmU="}` + "\n", strings.Repeat("x", maxHeader+1)} {
		var out, errs bytes.Buffer
		if status := Main(strings.NewReader(text), &out, &errs); status != 1 || errs.Len() == 0 {
			t.Errorf("%.40q: status %d, %q", text, status, errs.String())
		}
	}
}

// TestManyFailures: so many are listed, and the others counted.
func TestManyFailures(t *testing.T) {
	r := newTree(t, nil)
	for i := range maxFailure + 5 {
		r.add(DoRemove, fmt.Sprint(i), "", func(op *Op) { op.Was = Stat{Kind: File} })
	}
	if got := r.run(); len(got.Failed) != maxFailure || got.More != 5 {
		t.Errorf("%d and %d", len(got.Failed), got.More)
	}
}
