package history

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"carrel/internal/history/disk"
)

// exported takes a step apart with tar(1), and gives both sides as snapshots.
func (d *desk) exported(t *testing.T, step uint64) (before, after string) {
	t.Helper()
	var out bytes.Buffer
	missing, err := d.store.Export(step, d.root, &out)
	if err != nil || len(missing) > 0 {
		t.Fatalf("export: %+v, %v", missing, err)
	}
	dir := t.TempDir()
	cmd := exec.Command("tar", "-xp", "--xattrs", "--numeric-owner", "-C", dir)
	cmd.Stdin = &out
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, text)
	}
	return snapshot(t, dir+"/before"), snapshot(t, dir+"/after")
}

// TestExport: a tar holds what was before a step and after it, whatever became of
// it since, and any tar takes it apart.
func TestExport(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	before := snapshot(t, d.root)
	d.begin(t)
	for _, name := range []string{"a", "empty", "dir", "l1", "l2", "pipe", "od\xffd\n"} {
		d.removeAll(t, name)
	}
	long := strings.Repeat("n", 255)
	d.mkdir(t, "-new\\")
	d.write(t, "-new\\/"+long, "after")
	d.write(t, "a", "after")
	d.act(t, Link, d.at("a"), d.at("\xfe"), func() error { return os.Link(d.at("a"), d.at("\xfe")) })
	d.act(t, Make, d.at("sym"), "", func() error { return os.Symlink("to\xff", d.at("sym")) })
	d.end(t)
	d.close(t)
	after := snapshot(t, d.root)
	same := func(when string) {
		t.Helper()
		x, y := d.exported(t, 1)
		if x != before {
			t.Fatalf("%s: before:\n%s", when, apart(x, before))
		}
		if y != after {
			t.Fatalf("%s: after:\n%s", when, apart(y, after))
		}
	}
	same("done")
	d.begin(t)
	d.write(t, "a", "by a later step")
	d.end(t)
	d.close(t)
	same("with a later step")
	if _, err := d.undo(t, Request{Steps: []uint64{2}}); err != nil {
		t.Fatal(err)
	}
	same("with a later step that is taken back")
	if _, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil {
		t.Fatal(err)
	}
	same("taken back")
	l := d.read(t)
	if _, err := d.undo(t, Request{Steps: []uint64{l.Steps[len(l.Steps)-1].Number}, Redo: true}); err != nil {
		t.Fatal(err)
	}
	same("made again")
}

// TestExportOfAPart: a path that was taken back alone has its sides the other way
// round in the store.
func TestExportOfAPart(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	d.begin(t)
	d.write(t, "a", "other of a")
	d.write(t, "dir/f", "o")
	d.end(t)
	d.close(t)
	if _, err := d.undo(t, Request{Steps: []uint64{1}, Paths: []string{d.at("dir/f")}}); err != nil {
		t.Fatal(err)
	}
	if f := d.verified(t); len(f) > 0 {
		t.Fatal(f)
	}
	got := d.tarred(t, 1)
	for name, want := range map[string]string{"before/a": "content of a", "after/a": "other of a", "before/dir/f": "f", "after/dir/f": "o"} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}

// tarred gives the contents of an export's files.
func (d *desk) tarred(t *testing.T, step uint64) map[string]string {
	t.Helper()
	var buf bytes.Buffer
	if _, err := d.store.Export(step, d.root, &buf); err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	for r := tar.NewReader(&buf); ; {
		h, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[h.Name] = string(data)
	}
}

// TestExportTellsWhatItLacks: what is not kept, or changed since, is listed and no
// other content stands for it.
func TestExportTellsWhatItLacks(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	cwd, err := unix.Open(d.root, unix.O_PATH, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(cwd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: disk.ProcPath(cwd) + "/socket"}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(d.at("dir/sub/g"), "user.a=b", []byte("v"), 0); err != nil {
		t.Fatal(err)
	}
	d.store.SetLimits(Limits{FileBytes: 1})
	d.begin(t)
	d.write(t, "a", "same length!") // lost: its copy is too large
	d.remove(t, "socket")
	d.remove(t, "dir/sub/g")
	d.write(t, "b", "of the step")
	d.end(t)
	d.close(t)
	if err := os.WriteFile(d.at("b"), []byte("by another!"), 0o644); err != nil {
		t.Fatal(err)
	}
	missing, err := d.store.Export(1, d.root, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, m := range missing {
		side := "after"
		if m.Before {
			side = "before"
		}
		got[side+strings.TrimPrefix(m.Path, d.root)] = m.Why
	}
	for name, want := range map[string]string{
		"before/a": "history.max_file_bytes", "before/socket": "no place in a tar", "before/dir/sub/g": `"user.a=b" has no name`, "after/b": "no longer kept",
	} {
		if !strings.Contains(got[name], want) {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if len(got) != 4 {
		t.Errorf("missing: %q", got)
	}
	files := d.tarred(t, 1)
	if _, ok := files["before/a"]; ok || len(files["before/dir/sub/g"]) != 5000 || files["after/a"] != "same length!" {
		t.Errorf("files: %q", files)
	}
	if _, err := d.store.Export(9, d.root, io.Discard); err == nil {
		t.Error("a step was exported that there is not")
	}
}

// TestExportBesideAnEdit: what a user wrote between two steps is no step's.
func TestExportBesideAnEdit(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	for _, text := range []string{"step", "next"} {
		d.begin(t)
		d.write(t, "a", text)
		d.end(t)
		d.close(t)
		if err := os.WriteFile(d.at("a"), []byte("user"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	missing, err := d.store.Export(1, d.root, io.Discard)
	if err != nil || len(missing) != 1 || missing[0].Before || missing[0].Path != d.at("a") {
		t.Errorf("%+v, %v", missing, err)
	}
	if got := d.tarred(t, 2)["before/a"]; got != "user" {
		t.Errorf("before the next step: %q", got)
	}
}
