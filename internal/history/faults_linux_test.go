package history

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"

	"carrel/internal/history/disk"
	"carrel/internal/history/undo"

	"golang.org/x/sys/unix"
)

// failing makes calls fail from the n-th on, as many as told, and gives how many
// there were.
func failing(at, times int, with error, do func()) (calls int) {
	disk.Trial = func(call string) error {
		if call == "change" || call == "changed" {
			return nil
		}
		calls++
		if calls > at && calls <= at+times {
			return with
		}
		return nil
	}
	defer func() { disk.Trial = nil }()
	do()
	return calls
}

// careful makes a change as the broker does: what cannot be kept is not done.
func (d *desk) careful(op Op, path, to string, do func() error) error {
	c := Change{Op: op, Path: path, To: to}
	if err := d.w.Before(&c); err != nil {
		return err
	}
	err := do()
	d.w.After(&c, err)
	return err
}

// hardship is a step that goes on whatever is refused, twice over.
func (d *desk) hardship() (refused []error) {
	try := func(err error) {
		if err != nil {
			refused = append(refused, err)
		}
	}
	for range 2 {
		for _, name := range []string{"dir/f", "dir/link", "dir/sub/g", "dir/sub", "dir", "l1"} {
			try(d.careful(Remove, d.at(name), "", func() error { return os.Remove(d.at(name)) }))
		}
		for _, name := range []string{"a", "l2", "empty"} {
			op := Content
			if _, err := os.Lstat(d.at(name)); err != nil {
				op = Make
			}
			try(d.careful(op, d.at(name), "", func() error { return os.WriteFile(d.at(name), []byte("changed"), 0o600) }))
		}
		try(d.careful(Make, d.at("new"), "", func() error { return os.Mkdir(d.at("new"), 0o700) }))
		try(d.careful(Make, d.at("new/x"), "", func() error { return os.WriteFile(d.at("new/x"), nil, 0o700) }))
		try(d.careful(Rename, d.at("a"), d.at("pipe"), func() error { return os.Rename(d.at("a"), d.at("pipe")) }))
		try(d.careful(Rename, d.at("new"), d.at("newer"), func() error { return os.Rename(d.at("new"), d.at("newer")) }))
		try(d.careful(Meta, d.at("empty"), "", func() error { return os.Chmod(d.at("empty"), 0o644) }))
	}
	return refused
}

var storeErrors = []error{unix.ENOSPC, unix.EDQUOT, unix.EIO, unix.EMFILE, unix.EROFS}

// TestFailuresInAStep: whatever fails, one time or for a while, is an error with
// a number to the one who asks for the change, and what was done all the same can
// be taken back.
func TestFailuresInAStep(t *testing.T) {
	place := places(t)
	for name, p := range place {
		for _, times := range []int{1, 1 << 30} {
			for at := p.first; ; at += p.stride * 2 {
				with := storeErrors[at%len(storeErrors)]
				when := fmt.Sprintf("%s: %v at %d, %d times", name, with, at, times)
				d := p.desk(t)
				d.fill(t)
				before := snapshot(t, d.root)
				d.begin(t)
				var refused []error
				calls := failing(at, times, with, func() { refused = d.hardship() })
				for _, err := range refused {
					var no syscall.Errno
					if !errors.As(err, &no) {
						t.Fatalf("%s: refused without a number: %v", when, err)
					}
				}
				tree := snapshot(t, d.root)
				if at >= calls {
					break
				}
				if times > 1 && !slices.ContainsFunc(refused, func(err error) bool { return errors.Is(err, with) }) && at < calls/2 {
					t.Fatalf("%s: nothing was refused: %v", when, refused)
				}
				d.end(t)
				d.close(t)
				d.undoAndRedo(t, when, before, tree)
			}
		}
	}
}

// TestFailuresAtTheEnd: a step whose end cannot be written is open, and closed by
// the next who comes.
func TestFailuresAtTheEnd(t *testing.T) {
	for name, p := range places(t) {
		for at := 0; ; at += 2 {
			when := fmt.Sprintf("%s: at %d", name, at)
			d := p.desk(t)
			d.fill(t)
			before := snapshot(t, d.root)
			d.begin(t)
			d.hardship()
			tree := snapshot(t, d.root)
			var err error
			calls := failing(at, 1<<30, unix.ENOSPC, func() {
				_, err = d.w.End(0, nil)
				_ = d.w.Close()
			})
			if at >= calls {
				break
			}
			d.w = nil
			if l := d.read(t); err == nil && l.Steps[0].Open() {
				t.Fatalf("%s: the end was not written, and nobody told", when)
			}
			d.recover(t)
			d.undoAndRedo(t, when, before, tree)
		}
	}
}

// TestFailuresInAnUndo: an undo that cannot be finished is taken back, or the
// next command goes on with it.
func TestFailuresInAnUndo(t *testing.T) {
	for name, p := range places(t) {
		for _, times := range []int{1, 1 << 30} {
			for at := p.first; ; at += p.stride * 2 {
				with := storeErrors[at%len(storeErrors)]
				when := fmt.Sprintf("%s: %v at %d, %d times", name, with, at, times)
				d := p.desk(t)
				d.fill(t)
				before := snapshot(t, d.root)
				d.begin(t)
				d.hardship()
				d.end(t)
				d.close(t)
				tree := snapshot(t, d.root)
				l := d.read(t)
				var err error
				calls := failing(at, times, with, func() {
					_, err = d.store.Undo(l, Request{Steps: []uint64{1}, Roots: []string{d.root}})
				})
				if at >= calls {
					break
				}
				now := snapshot(t, d.root)
				if err != nil && !errors.Is(err, with) && !errors.Is(err, disk.ErrChanged) {
					t.Logf("%s: %v", when, err)
				}
				if err != nil && !errors.Is(err, undo.ErrUnfinished) && now != tree {
					t.Fatalf("%s: %v, and the tree is neither:\n%s", when, err, apart(now, tree))
				}
				d.recover(t)
				if got := snapshot(t, d.root); got != before && got != tree {
					t.Fatalf("%s: %v; neither before nor after:\n%s\n\n%s", when, err, apart(got, before), apart(got, tree))
				}
				d.undoAndRedo(t, when, before, tree)
			}
		}
	}
}
