package history

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"

	"golang.org/x/sys/unix"
)

// killedAt makes a step and is killed at the n-th call of a kind.
func (d *desk) killedAt(t *testing.T, call string, n int, do func()) {
	t.Helper()
	seen := 0
	disk.Trial = func(c string) error {
		if c == call {
			if seen++; seen >= n {
				panic(killed{})
			}
		} else if seen >= n && c != "look" && c != "open" {
			panic(killed{})
		}
		return nil
	}
	defer func() {
		disk.Trial = nil
		if _, ok := recover().(killed); !ok {
			t.Fatal("not killed")
		}
		d.kill()
	}()
	do()
}

// TestALinkThatStayedGoes: a file that was linked as it was about to go, and did
// not, has one name again when the step is closed.
func TestALinkThatStayedGoes(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	d.begin(t)
	d.killedAt(t, "change", 1, func() { d.remove(t, "a") })
	d.recover(t)
	var st unix.Stat_t
	if err := unix.Lstat(d.at("a"), &st); err != nil || st.Nlink != 1 {
		t.Errorf("%d names, %v", st.Nlink, err)
	}
}

// TestObjectsNobodyKnowsGo: of which the record was not written any more.
func TestObjectsNobodyKnowsGo(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	d.begin(t)
	d.write(t, "dir/f", "kept")
	segment := d.w.Segment()
	d.killedAt(t, "record", 1, func() { d.write(t, "a", "other") })
	d.recover(t)
	got, err := os.ReadDir(d.store.Dir() + "/objects/" + segment)
	if err != nil || len(got) != 1 {
		t.Errorf("%v %v", got, err)
	}
}

// TestReplayOfAMadeDirectory: what was made in a directory that took the place of
// another is the step's.
func TestReplayOfAMadeDirectory(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	before := snapshot(t, d.root)
	d.begin(t)
	d.removeAll(t, "dir")
	d.mkdir(t, "dir")
	d.write(t, "dir/never", "there before")
	d.write(t, "dir/empty", "")
	d.mkdir(t, "dir/more")
	d.act(t, Make, d.at("dir/link2"), "", func() error { return os.Symlink("x", d.at("dir/link2")) })
	after := snapshot(t, d.root)
	d.kill()
	d.recover(t)
	if !slices.ContainsFunc(d.read(t).Steps[0].Changes(), func(c steplog.PathChange) bool { return c.Path == d.at("dir/never") && c.What == steplog.Added }) {
		t.Errorf("changes: %+v", d.read(t).Steps[0].Changes())
	}
	d.undoAndRedo(t, "killed", before, after)
}

// TestAnEndThatIsTriedAgain: a step whose end could not be written goes on, and
// what it left is what it left in the end.
func TestAnEndThatIsTriedAgain(t *testing.T) {
	for _, died := range []bool{false, true} {
		for at := 0; ; at++ {
			d := newDesk(t)
			d.fill(t)
			before := snapshot(t, d.root)
			d.begin(t)
			d.write(t, "a", "first")
			calls := failing(at, 1<<30, unix.ENOSPC, func() {
				if n, err := d.w.End(0, nil); err != nil && (n != 1 || !errors.Is(err, unix.ENOSPC)) {
					t.Errorf("open: %d, %v", n, err)
				}
			})
			if at >= calls {
				break
			}
			d.write(t, "a", "second, and longer")
			d.write(t, "b", "new")
			after := snapshot(t, d.root)
			if died {
				d.kill()
			} else {
				d.end(t)
				d.close(t)
			}
			d.recover(t)
			d.undoAndRedo(t, "after all", before, after)
		}
	}
}

// TestEditedAfterAKillInTheEnd: what had been seen by then counts, not what
// somebody made of it later.
func TestEditedAfterAKillInTheEnd(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	d.begin(t)
	d.write(t, "a", "by the step")
	d.killedAt(t, "sync", 1, func() {
		if _, err := d.w.End(0, nil); err != nil {
			t.Fatal(err)
		}
		_ = d.w.Sync()
	})
	// As if the last record had not been written: the posts are there.
	name := d.store.Dir() + "/journal/" + d.read(t).Steps[0].Segment
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	at, last := 0, 0
	for {
		_, n := journal.Decode(data[at:])
		if n == 0 {
			break
		}
		last = at
		at += n
	}
	if err := os.WriteFile(name, data[:last], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.at("a"), []byte("by the user"), 0o640); err != nil {
		t.Fatal(err)
	}
	d.recover(t)
	var c *ConflictError
	if _, err := d.undo(t, Request{Steps: []uint64{1}}); !errors.As(err, &c) {
		t.Errorf("undo over what the user made: %v", err)
	}
}

// TestEditedAfterAKill: with the clock as it is, and set back.
func TestEditedAfterAKill(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"later": -time.Minute, "by a clock that was set back": time.Hour} {
		d := newDesk(t)
		d.fill(t)
		d.begin(t)
		d.write(t, "a", "by the step")
		segment := d.w.Segment()
		d.kill()
		// The last record says when the writer lived.
		data, err := os.ReadFile(d.store.Dir() + "/journal/" + segment)
		if err != nil {
			t.Fatal(err)
		}
		var rest []byte
		for {
			r, n := journal.Decode(data)
			if n == 0 {
				break
			}
			data = data[n:]
			r.Time = time.Now().Add(ahead).UnixNano()
			if rest, err = journal.Encode(rest, r); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(d.store.Dir()+"/journal/"+segment, rest, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.at("a"), []byte("by the user"), 0o640); err != nil {
			t.Fatal(err)
		}
		d.recover(t)
		var c *ConflictError
		if _, err := d.undo(t, Request{Steps: []uint64{1}}); !errors.As(err, &c) {
			t.Errorf("%s: undo over what the user made: %v", name, err)
		}
	}
}

// TestKeptAfterAFailure: what could not be kept the first time is kept the next.
func TestKeptAfterAFailure(t *testing.T) {
	for at := 0; ; at++ {
		d := newDesk(t)
		d.fill(t)
		before := snapshot(t, d.root)
		d.begin(t)
		calls := failing(at, 1, unix.ENOSPC, func() {
			_ = d.careful(Remove, d.at("a"), "", func() error { return os.Remove(d.at("a")) })
			_ = d.careful(Rename, d.at("l2"), d.at("dir/f"), func() error { return os.Rename(d.at("l2"), d.at("dir/f")) })
		})
		_ = d.careful(Remove, d.at("a"), "", func() error { return os.Remove(d.at("a")) })
		_ = d.careful(Rename, d.at("l2"), d.at("dir/f"), func() error { return os.Rename(d.at("l2"), d.at("dir/f")) })
		after := snapshot(t, d.root)
		d.end(t)
		d.close(t)
		d.undoAndRedo(t, "in the end", before, after)
		if at >= calls {
			break
		}
	}
}
