package history

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"carrel/internal/history/journal"
)

// TestBudgetOfCopies: what would have to be copied beyond a limit is written down
// as lost, with its reason; what is linked is kept whatever its size.
func TestBudgetOfCopies(t *testing.T) {
	d := newDesk(t)
	if clones(t, d.root) {
		t.Skip("a file system that clones: no limit holds for that")
	}
	big := bytes.Repeat([]byte("b"), 40<<10)
	for _, name := range []string{"big", "gone", "x", "y", "z"} {
		size := 40 << 10
		if len(name) == 1 {
			size = 20 << 10
		}
		if err := os.WriteFile(d.at(name), big[:size], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sparse, err := os.Create(d.at("sparse"))
	if err == nil {
		err = errors.Join(sparse.Truncate(1<<30), sparse.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	d.store.SetLimits(Limits{FileBytes: 32 << 10, StepBytes: 48 << 10})
	for range 2 { // each step has its own allowance
		d.begin(t)
		d.write(t, "big", "changed")
		d.write(t, "sparse", "changed")
		for _, name := range []string{"x", "y", "z"} {
			d.write(t, name, string(big[:20<<10]))
		}
		d.remove(t, "gone")
		d.end(t)
		l := d.read(t)
		lost := make(map[string]string)
		step := l.Steps[len(l.Steps)-1]
		for _, p := range step.Lost() {
			lost[string(p.Path)] = p.Lost
		}
		if len(lost) != 2 || !strings.Contains(lost[d.at("big")], "40960 bytes are more than the 32768 of history.max_file_bytes") ||
			!strings.Contains(lost[d.at("z")], "20480 bytes are more than the 8192 that this step has left of history.max_step_bytes") {
			t.Fatalf("lost: %q", lost)
		}
		d.close(t)
		var refused *UnrestorableError
		if _, err := d.undo(t, Request{Steps: []uint64{step.Number}}); !errors.As(err, &refused) || len(refused.Paths) != 2 {
			t.Fatalf("without a mode: %v", err)
		}
		v, err := d.undo(t, Request{Steps: []uint64{step.Number}, Mode: journal.Skip})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(v.Plan.Unrestorable); got != 2 {
			t.Errorf("%d are said not to come back, want 2", got)
		}
		if got, _ := os.ReadFile(d.at("gone")); !bytes.Equal(got, big) {
			t.Errorf("what was linked came back with %d bytes", len(got))
		}
		if err := os.WriteFile(d.at("big"), big, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if f := d.verified(t); len(f) > 0 {
		t.Errorf("%+v", f)
	}
}

// clones says whether a file system shares blocks.
func clones(t *testing.T, dir string) bool {
	t.Helper()
	a, err := os.Create(dir + "/.clone-a")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(a.Name())
	defer a.Close()
	b, err := os.Create(dir + "/.clone-b")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(b.Name())
	defer b.Close()
	return unix.IoctlFileClone(int(b.Fd()), int(a.Fd())) == nil
}

// fillSteps makes a step of each size, in runs of their own names.
func (d *desk) fillSteps(t *testing.T, runs string, kilobytes ...int) {
	t.Helper()
	for i, k := range kilobytes {
		name := fmt.Sprintf("file-%d", i)
		if err := os.WriteFile(d.at(name), bytes.Repeat([]byte("k"), k<<10), 0o644); err != nil {
			t.Fatal(err)
		}
		w, err := d.store.NewWriter(runs[i:i+1], []string{d.root})
		if err != nil {
			t.Fatal(err)
		}
		d.w = w
		if _, err := w.Begin(journal.Begin{Kind: journal.StepRun, Run: runs[i : i+1]}); err != nil {
			t.Fatal(err)
		}
		d.write(t, name, "changed")
		d.end(t)
		d.close(t)
	}
}

// TestTrim: beyond its budget a store loses the oldest, and what stays can be
// taken back.
func TestTrim(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits Limits
		runs   string
		sizes  []int
		want   []uint64
		over   bool
	}{
		{"no limits", Limits{}, "abc", []int{100, 100, 100}, []uint64{1, 2, 3}, false},
		{"within", Limits{Bytes: 1 << 20, Steps: 3}, "abc", []int{100, 100, 100}, []uint64{1, 2, 3}, false},
		{"bytes", Limits{Bytes: 250 << 10}, "abc", []int{100, 100, 100}, []uint64{2, 3}, false},
		{"steps", Limits{Steps: 2}, "abcd", []int{1, 1, 1, 1}, []uint64{3, 4}, false},
		{"the newest alone", Limits{Bytes: 100 << 10}, "ab", []int{60, 400}, []uint64{2}, true},
		{"the newest beside others", Limits{Bytes: 100 << 10}, "ab", []int{20, 400}, []uint64{1, 2}, true},
		{"a flood", Limits{Bytes: 200 << 10}, "abbb", []int{60, 60, 60, 60}, []uint64{1, 4}, true},
		{"a batch at once", Limits{Steps: 8}, "abcdefghi", []int{1, 1, 1, 1, 1, 1, 1, 1, 1}, []uint64{3, 4, 5, 6, 7, 8, 9}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			d.store.SetLimits(c.limits)
			d.fillSteps(t, c.runs, c.sizes...)
			r, err := d.store.Trim()
			if err != nil {
				t.Fatal(err)
			}
			l := d.read(t)
			if got := numbers(l); !slices.Equal(got, c.want) {
				t.Fatalf("left: %v, want %v (%+v)", got, c.want, r)
			}
			if over := r != nil && r.Over > 0; c.name != "a flood" && over != c.over {
				t.Errorf("over the budget: %v, want %v: %+v", over, c.over, r)
			}
			if f := d.verified(t); len(f) > 0 {
				t.Fatal(f)
			}
			u, err := d.store.Usage(l)
			if err != nil || r != nil && u.Disk() != r.Kept {
				t.Errorf("kept: %d, said %+v, %v", u.Disk(), r, err)
			}
			for _, n := range slices.Backward(c.want) {
				if _, err := d.undo(t, Request{Steps: []uint64{n}}); err != nil {
					t.Fatalf("undo of %d: %v", n, err)
				}
				if st, err := os.Stat(d.at(fmt.Sprintf("file-%d", n-1))); err != nil || st.Size() != int64(c.sizes[n-1])<<10 {
					t.Errorf("after undo of %d: %v %v", n, st, err)
				}
			}
		})
	}
}

// TestTrimLooksOnlyWhereItMay: a store within its limits is not read, and one that
// somebody writes is left alone.
func TestTrimLooksOnlyWhereItMay(t *testing.T) {
	d := newDesk(t)
	d.store.SetLimits(Limits{Bytes: 1 << 20})
	d.fillSteps(t, "ab", 10, 10)
	if r, err := d.store.Trim(); r != nil || err != nil {
		t.Errorf("within its limits: %+v, %v", r, err)
	}
	d.store.SetLimits(Limits{Bytes: 1})
	d.begin(t)
	d.write(t, "file-0", "changed again")
	other, err := Open(d.store.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetLimits(Limits{Bytes: 1})
	if r, err := other.Trim(); r != nil || err != nil || len(d.read(t).Steps) != 3 {
		t.Errorf("beside a writer: %+v, %v", r, err)
	}
	d.end(t)
	d.close(t)
	if r, err := other.Trim(); err != nil || r == nil || !slices.Equal(r.Steps, []uint64{1, 2}) {
		t.Errorf("after the writer: %+v, %v", r, err)
	}
}

// TestUsage: who keeps what.
func TestUsage(t *testing.T) {
	d := newDesk(t)
	d.fillSteps(t, "ab", 100, 50)
	if err := os.WriteFile(d.at("linked"), bytes.Repeat([]byte("l"), 30<<10), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(d.at("linked"), d.at("other")); err != nil {
		t.Fatal(err)
	}
	d.begin(t)
	d.remove(t, "linked") // it has another name, so it would free nothing
	d.end(t)
	d.close(t)
	if _, err := d.undo(t, Request{Steps: []uint64{2}}); err != nil {
		t.Fatal(err)
	}
	u, err := d.store.Usage(d.read(t))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range u.Steps {
		got = append(got, fmt.Sprintf("%d+%d %d %d", s.Number(), len(s.Steps)-1, s.Bytes, s.Disk))
	}
	want := []string{"1+0 102400 102400", "2+1 7 4096", "3+0 0 0"}
	if !slices.Equal(got, want) || u.All.Bytes != 102407 || u.Unreferenced.Objects != 0 || u.Journals == 0 {
		t.Errorf("got %q, %+v, want %q", got, u, want)
	}
}

// TestShrink: the oldest steps go until what stays is no more than was said, or the newest
// step alone stays. A store that is written stays as it is.
func TestShrink(t *testing.T) {
	for _, c := range []struct {
		bytes int64
		want  []uint64
	}{
		{1 << 20, []uint64{1, 2, 3, 4}}, {350 << 10, []uint64{2, 3, 4}}, {210 << 10, []uint64{4}}, {1, []uint64{4}},
	} {
		d := newDesk(t)
		d.fillSteps(t, "abab", 100, 100, 100, 100)
		before, err := EstimateAt(d.store.Dir())
		if exact, e := d.store.Recount(); err != nil || e != nil || exact.Steps != before.Steps || exact.Bytes <= before.Bytes || exact.Bytes > before.Bytes+64<<10 {
			t.Fatalf("estimated %+v, counted %+v: %v, %v", before, exact, err, e)
		}
		r, err := d.store.Shrink(c.bytes)
		if err != nil {
			t.Fatal(err)
		}
		if got := numbers(d.read(t)); !slices.Equal(got, c.want) || len(r.Steps) != 4-len(c.want) {
			t.Errorf("to %d: left %v, want %v (%+v)", c.bytes, got, c.want, r)
		}
		after, err := EstimateAt(d.store.Dir())
		if now, e := d.store.Recount(); err != nil || e != nil || now != after || r.Kept != now.Bytes || now.Steps != int64(len(c.want)) {
			t.Errorf("to %d: said %+v, estimated %+v, counted %+v: %v, %v", c.bytes, r, after, now, err, e)
		}
		if f := d.verified(t); len(f) > 0 {
			t.Error(f)
		}
	}
	d := newDesk(t)
	d.fillSteps(t, "ab", 100, 100)
	d.begin(t)
	d.write(t, "file-0", "changed again")
	other, err := Open(d.store.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Shrink(1); !errors.Is(err, ErrBusy) || len(d.read(t).Steps) != 3 {
		t.Errorf("beside a writer: %v", err)
	}
	d.end(t)
	d.close(t)
	if _, err := EstimateAt(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no store: %v", err)
	}
}
