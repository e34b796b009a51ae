package history

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/history/store"

	"golang.org/x/sys/unix"
)

// TestKilledForReal: as the crashes above, by a signal and in a process of its
// own.
func TestKilledForReal(t *testing.T) {
	if at := os.Getenv("CARREL_TEST_KILL"); at != "" {
		killSelf(t, at)
		return
	}
	for at := 1; ; at += 1 + at/2 {
		d := newDesk(t)
		d.fill(t)
		before := snapshot(t, d.root)
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestKilledForReal$")
		cmd.Env = append(os.Environ(), "CARREL_TEST_KILL="+strings.Repeat("x", at), "CARREL_TEST_ROOT="+d.root, "CARREL_TEST_STORE="+d.store.Dir())
		out, err := cmd.CombinedOutput()
		if err == nil {
			break
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("%v: %s", err, out)
		}
		tree := snapshot(t, d.root)
		l := d.read(t)
		undoing := slices.ContainsFunc(l.Steps, func(s *steplog.Step) bool { return s.Begin.Kind == journal.StepUndo })
		d.recover(t)
		if got := snapshot(t, d.root); !undoing && got != tree {
			t.Fatalf("at %d: recovering changed the tree:\n%s", at, apart(got, tree))
		}
		tree = snapshot(t, d.root)
		d.undoAndRedo(t, "for real", before, tree)
	}
}

// killSelf makes a step and takes it back, and is killed in the middle.
func killSelf(t *testing.T, at string) {
	d := &desk{t: t, root: os.Getenv("CARREL_TEST_ROOT")}
	var err error
	if d.store, err = Open(os.Getenv("CARREL_TEST_STORE")); err != nil {
		t.Fatal(err)
	}
	n := 0
	disk.Trial = func(call string) error {
		if call != "look" && call != "open" {
			if n++; n == len(at) {
				_ = unix.Kill(unix.Getpid(), unix.SIGKILL)
				time.Sleep(time.Minute)
			}
		}
		return nil
	}
	d.begin(t)
	d.hardship()
	d.end(t)
	d.close(t)
	if _, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil {
		t.Fatal(err)
	}
	disk.Trial = nil
}

// TestKilledInAnUndoOfSeveral: all of them are taken back in the end, or none.
func TestKilledInAnUndoOfSeveral(t *testing.T) {
	for name, place := range places(t) {
		for at := place.first; ; at += 2 * place.stride {
			d := place.desk(t)
			d.fill(t)
			before := snapshot(t, d.root)
			for _, c := range []string{"rm -rf", "saved as editors do", "two files change places"} {
				d.begin(t)
				if c == "rm -rf" {
					d.removeAll(t, "dir")
					d.mkdir(t, "dir")
				} else {
					oneStep[slices.IndexFunc(oneStep, func(s struct {
						name string
						do   func(t fataler, d *desk)
					}) bool {
						return s.name == c
					})].do(t, d)
				}
				d.end(t)
			}
			d.close(t)
			after := snapshot(t, d.root)
			var err error
			died := crash(at, func() { _, err = d.undo(t, Request{Steps: []uint64{1, 2, 3}}) })
			if !died {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			d.recover(t)
			if got := snapshot(t, d.root); got != before && got != after {
				t.Fatalf("%s, killed at %d: neither all nor none:\n%s\n\n%s", name, at, apart(got, before), apart(got, after))
			}
			d.undoAndRedo(t, name, before, after)
			d.drop()
		}
	}
}

// TestEditedBetweenCrashAndRecovery: what somebody changes then is left alone by
// the undo that is finished.
func TestEditedBetweenCrashAndRecovery(t *testing.T) {
	edits := map[string]func(d *desk) error{
		"saved over": func(d *desk) error {
			return errors.Join(os.WriteFile(d.at("mine"), []byte("by the user"), 0o640), os.Rename(d.at("mine"), d.at("a")))
		},
		"written to": func(d *desk) error { return os.WriteFile(d.at("a"), []byte("by the user"), 0o640) },
	}
	for name, edit := range edits {
		for at := 0; ; at++ {
			d := newDesk(t)
			d.fill(t)
			d.begin(t)
			d.write(t, "a", "by the step")
			d.removeAll(t, "dir")
			d.write(t, "new", "by the step")
			d.end(t)
			d.close(t)
			if !crash(at, func() { _, _ = d.undo(t, Request{Steps: []uint64{1}}) }) {
				break
			}
			if err := edit(d); err != nil {
				t.Fatal(err)
			}
			if _, err := d.store.Recover([]string{d.root}); err != nil {
				t.Fatalf("%s, killed at %d: %v", name, at, err)
			}
			if got, err := os.ReadFile(d.at("a")); string(got) != "by the user" {
				t.Fatalf("%s, killed at %d: %q %v", name, at, got, err)
			}
			if again, err := d.store.Recover([]string{d.root}); err != nil || len(again) > 0 {
				t.Fatalf("%s, killed at %d: %v %v", name, at, again, err)
			}
		}
	}
}

// TestStoreGone: somebody removes the history, or what it needs, while it is
// written.
func TestStoreGone(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	d.begin(t)
	if err := os.RemoveAll(d.store.Dir()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second / 4) // longer than a writer takes it to be there still
	before := snapshot(t, d.root)
	refused := d.hardship()
	if got := snapshot(t, d.root); got != before {
		t.Errorf("changed without a history:\n%s", apart(got, before))
	}
	for _, err := range refused {
		if !errors.Is(err, unix.EIO) || errors.Is(err, nil) {
			t.Errorf("refused with %v", err)
		}
	}
	if _, err := d.w.End(0, nil); err == nil {
		t.Error("the step was closed in a history that is gone")
	}
	_ = d.w.Close()
}

// TestStoreGoneJustNow: what would be lost is not, however short ago that was.
func TestStoreGoneJustNow(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	d.begin(t)
	if err := os.RemoveAll(d.store.Dir()); err != nil {
		t.Fatal(err)
	}
	for _, op := range []Op{Remove, Content} {
		if err := d.w.Before(&Change{Op: op, Path: d.at("a")}); !errors.Is(err, unix.EIO) {
			t.Errorf("%d: %v", op, err)
		}
	}
	d.kill()
}

// TestStoreFull: on a disk that is full changes are refused; when there is room
// again they are not, and all of it can be taken back.
func TestStoreFull(t *testing.T) {
	base := memory(t)
	if err := unix.Mount("tmpfs", base, "tmpfs", unix.MS_REMOUNT, "size=6m"); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	d := newDeskAt(t, home, base)
	d.fill(t)
	for _, name := range []string{"big1", "big2", "big3"} {
		if err := os.WriteFile(d.at(name), bytes.Repeat([]byte(name), 500_000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := snapshot(t, d.root)
	d.begin(t)
	var refused []error
	save := func() {
		for _, name := range []string{"big1", "big2", "big3"} {
			if err := d.careful(Content, d.at(name), "", func() error { return os.WriteFile(d.at(name), []byte("small"), 0o600) }); err != nil {
				refused = append(refused, err)
			}
		}
	}
	save()
	if len(refused) == 0 || !errors.Is(refused[0], unix.ENOSPC) {
		t.Fatalf("a full disk: %v", refused)
	}
	if err := unix.Mount("tmpfs", base, "tmpfs", unix.MS_REMOUNT, "size=60m"); err != nil {
		t.Fatal(err)
	}
	refused = nil
	save()
	if len(refused) > 0 {
		t.Fatalf("with room again: %v", refused)
	}
	d.end(t)
	d.close(t)
	d.undoAndRedo(t, "after a full disk", before, snapshot(t, d.root))
}

// TestRecordLostWithThePower: the link of what was removed reached the disk, and the
// record did not. Nobody knows its name, and it may be all that is left.
func TestRecordLostWithThePower(t *testing.T) {
	boot := store.BootID
	defer func() { store.BootID = boot }()
	d := newDesk(t)
	d.fill(t)
	d.begin(t)
	segment := d.w.Segment()
	d.remove(t, "a")
	d.kill()
	file := d.store.Dir() + "/journal/" + segment
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, begin := journal.Decode(data)
	if err := os.Truncate(file, int64(begin)); err != nil {
		t.Fatal(err)
	}
	store.BootID = func() string { return "another" }
	if closed, err := d.store.Recover([]string{d.root}); err != nil || len(closed) != 1 {
		t.Fatal(closed, err)
	}
	if got, err := os.ReadFile(d.store.Dir() + "/objects/" + segment + "/1"); string(got) != "content of a" {
		t.Errorf("%q %v", got, err)
	}
}
