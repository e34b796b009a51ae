package history

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// forge appends records to the journal of a writer that is gone, as somebody does
// who knows how.
func (d *desk) forge(segment string, records ...*journal.Record) {
	d.t.Helper()
	var data []byte
	var err error
	for i, r := range records {
		if r.Stamp == 0 {
			r.Stamp = uint64(1000 + i)
		}
		if data, err = journal.Encode(data, r); err != nil {
			d.t.Fatal(err)
		}
	}
	f, err := os.OpenFile(d.store.Dir()+"/journal/"+segment, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := f.Write(data); err != nil {
		d.t.Fatal(err)
	}
	f.Close()
	if err := os.MkdirAll(d.store.Dir()+"/objects/"+segment, 0o700); err != nil {
		d.t.Fatal(err)
	}
}

// everything does all that can be done with a store, whatever it says.
func (d *desk) everything() {
	_, _ = d.store.Recover([]string{d.root})
	l, err := d.store.Survey()
	if err != nil {
		return
	}
	for _, s := range l.Steps {
		s.Changes()
		s.Counts()
		for _, c := range s.Changes() {
			if a, b, err := d.store.Contents(l, s, c.Path); err == nil {
				if a != nil {
					a.Close()
				}
				if b != nil {
					b.Close()
				}
			}
		}
		for _, mode := range []journal.Mode{journal.Abort, journal.Skip, journal.KeepBoth, journal.Force} {
			_, _ = d.undo(quiet{}, Request{Steps: []uint64{s.Number}, Mode: mode})
			_, _ = d.undo(quiet{}, Request{Steps: []uint64{s.Number}, Mode: mode, Redo: true})
		}
		_, _ = d.store.Export(s.Number, d.root, io.Discard)
	}
}

// quiet is a test that damage does not fail.
type quiet struct{}

func (quiet) Helper()               {}
func (quiet) Fatalf(string, ...any) {}

// TestForgedPlansStayInside: an undo that somebody wrote into the journal changes
// nothing outside the roots, and says why it does not.
func TestForgedPlansStayInside(t *testing.T) {
	const segment = "00000000000000ff-forged"
	place := places(t)["two"]
	for name, plan := range map[string]func(d *desk, out string) []journal.Action{
		"a path outside": func(d *desk, out string) []journal.Action {
			return []journal.Action{{Verb: journal.Empty, Path: journal.Bytes(out + "/made"), State: journal.State{Kind: journal.File}}}
		},
		"dots": func(d *desk, out string) []journal.Action {
			return []journal.Action{{Verb: journal.Empty, Path: journal.Bytes(d.root + "/../outside/made"), State: journal.State{Kind: journal.File}}}
		},
		"a link to it": func(d *desk, out string) []journal.Action {
			return []journal.Action{{Verb: journal.MakeSymlink, Path: journal.Bytes(d.root + "/l"), State: journal.State{Kind: journal.Symlink, Target: journal.Bytes(out)}},
				{Verb: journal.Empty, Path: journal.Bytes(d.root + "/l/made"), State: journal.State{Kind: journal.File}},
				{Verb: journal.SetMeta, Path: journal.Bytes(d.root + "/l"), State: journal.State{Kind: journal.Dir, Mode: 0}}}
		},
		"another name outside": func(d *desk, out string) []journal.Action {
			st, _ := disk.StateAt(unix.AT_FDCWD, d.root+"/a", 0)
			st.Target = journal.Bytes("../outside/made")
			return []journal.Action{{Verb: journal.Aside, Path: journal.Bytes(d.root + "/a"), State: st}}
		},
		"a second name outside": func(d *desk, out string) []journal.Action {
			return []journal.Action{{Verb: journal.MakeLink, Path: journal.Bytes(d.root + "/x"), State: journal.State{Kind: journal.File, Target: journal.Bytes(out + "/secret")}}}
		},
		"a name on the way": func(d *desk, out string) []journal.Action {
			_ = os.Mkdir(d.root+"/.carrel-", 0o755)
			st, _ := disk.StateAt(unix.AT_FDCWD, d.root+"/dir", 0)
			return []journal.Action{{Verb: journal.Take, Path: journal.Bytes(d.root + "/dir"), State: st, Object: journal.Object{Segment: segment, Number: 1}, Temp: journal.Bytes(".carrel-/../../outside/made")}}
		},
		"an object elsewhere": func(d *desk, out string) []journal.Action {
			return []journal.Action{{Verb: journal.Put, Path: journal.Bytes(d.root + "/x"), Object: journal.Object{Segment: "../../outside-0000", Number: 0}, State: journal.State{Kind: journal.File, Size: -1}}}
		},
	} {
		for _, roots := range []string{"its root", "the whole disk"} {
			t.Run(name+", "+roots, func(t *testing.T) {
				d := place.desk(t)
				d.fill(t)
				out := filepath.Dir(d.root) + "/outside"
				for _, err := range []error{os.Mkdir(out, 0o755), os.WriteFile(out+"/secret", []byte("s"), 0o600), os.WriteFile(out+"/0", []byte("s"), 0o600)} {
					if err != nil {
						t.Fatal(err)
					}
				}
				before := snapshot(t, out)
				begin := &journal.Begin{Kind: journal.StepUndo, Of: []uint64{1}, Roots: []journal.Bytes{journal.Bytes(d.root)}}
				if roots != "its root" {
					begin.Roots = []journal.Bytes{journal.Bytes("/")}
				}
				actions := plan(d, out)
				records := []*journal.Record{{Step: 1, Begin: &journal.Begin{Kind: journal.StepRun, Roots: begin.Roots}}, {Step: 1, End: &journal.End{}}, {Step: 2, Begin: begin}}
				for i := range actions {
					records = append(records, &journal.Record{Step: 2, Do: &actions[i]})
				}
				d.forge(segment, append(records, &journal.Record{Step: 2, Ready: len(actions)})...)
				closed, err := d.store.Recover([]string{d.root})
				if got := snapshot(t, out); got != before {
					t.Fatalf("%v %v: changed outside:\n%s", closed, err, apart(got, before))
				}
				if _, err := os.Lstat(d.at("x")); err == nil && name != "a link to it" {
					t.Errorf("something of outside came in: %v %v", closed, err)
				}
				d.everything()
				if got := snapshot(t, out); got != before {
					t.Fatalf("changed outside:\n%s", apart(got, before))
				}
			})
		}
	}
}

// TestDamagedStore: whatever becomes of its files, nothing outside is changed,
// nothing panics or waits, and the steps before the damage stay usable.
func TestDamagedStore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		d.fill(t)
		out := filepath.Dir(d.root) + "/outside"
		_ = os.Mkdir(out, 0o755)
		_ = os.WriteFile(out+"/f", []byte("outside"), 0o600)
		outside := snapshot(rt, out)
		for range 3 {
			d.begin(rt)
			for range 6 {
				d.random(rt)
			}
			d.end(rt)
		}
		d.close(rt)
		if rapid.Bool().Draw(rt, "undone") {
			_, _ = d.undo(rt, Request{Steps: []uint64{3}})
		}
		var files []string
		_ = filepath.Walk(d.store.Dir(), func(p string, st os.FileInfo, err error) error {
			if err == nil && p != d.store.Dir() {
				files = append(files, p)
			}
			return nil
		})
		for range rapid.IntRange(1, 4).Draw(rt, "damages") {
			damage(rt, rapid.SampledFrom(files).Draw(rt, "file"), out)
		}
		d.everything()
		d.removals()
		if s, err := Open(d.store.Dir()); err == nil {
			_, _ = s.Read()
			s.Close()
		}
		if got := snapshot(rt, out); got != outside {
			rt.Fatalf("changed outside:\n%s", apart(got, outside))
		}
	})
}

func damage(t *rapid.T, path, out string) {
	st, err := os.Lstat(path)
	if err != nil {
		return
	}
	var data []byte
	if st.Mode().IsRegular() { // a pipe would wait
		data, _ = os.ReadFile(path)
	}
	switch rapid.IntRange(0, 6).Draw(t, "how") {
	case 0:
		if st.Mode().IsRegular() && len(data) > 0 {
			i := rapid.IntRange(0, len(data)*8-1).Draw(t, "bit")
			data[i/8] ^= 1 << (i % 8)
			_ = os.WriteFile(path, data, 0o600)
		}
	case 1:
		if st.Mode().IsRegular() {
			_ = os.Truncate(path, rapid.Int64Range(0, st.Size()).Draw(t, "size"))
		}
	case 2:
		_ = os.RemoveAll(path)
	case 3:
		_ = os.RemoveAll(path)
		_ = os.Symlink(rapid.SampledFrom([]string{out, out + "/f", "/dev/zero", "."}).Draw(t, "target"), path)
	case 4:
		_ = os.RemoveAll(path)
		_ = os.Mkdir(path, 0o700)
	case 5:
		_ = os.RemoveAll(path)
		_ = unix.Mkfifo(path, 0o600)
	case 6:
		if st.Mode().IsRegular() && len(data) > 0 {
			i := rapid.IntRange(0, len(data)-1).Draw(t, "at")
			_ = os.WriteFile(path, append(bytes.Clone(data[:i]), bytes.Repeat([]byte{0xff}, 40)...), 0o600)
		}
	}
}

// written is how much of the open journal is records.
func (d *desk) written(t *testing.T) (n int64) {
	t.Helper()
	data, err := os.ReadFile(d.store.Dir() + "/journal/" + d.w.Segment())
	if err != nil {
		t.Fatal(err)
	}
	for {
		_, more := journal.Decode(data[n:])
		if more == 0 {
			return n
		}
		n += int64(more)
	}
}

// TestStepsBesideDamage: what is damaged is named, cannot be taken back, and does
// not hold up what is whole.
func TestStepsBesideDamage(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	var ends []int64
	var trees []string
	for i := range 3 {
		trees = append(trees, snapshot(t, d.root))
		d.begin(t)
		d.write(t, fmt.Sprintf("made%d", i), "x")
		d.end(t)
		ends = append(ends, d.written(t))
	}
	d.close(t)
	name := d.store.Dir() + "/journal/" + d.read(t).Steps[0].Segment
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	data[ends[0]+(ends[1]-ends[0])*2/3] ^= 4
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if closed, err := d.store.Recover([]string{d.root}); err != nil || len(closed) > 0 {
		t.Fatalf("recovering: %v %v", closed, err)
	}
	if now, err := os.ReadFile(name); err != nil || !bytes.Equal(now, data) {
		t.Error("recovering threw away what comes after the damage")
	}
	l, err := d.store.Read()
	if err != nil || len(l.Damaged) != 1 || len(l.Steps) != 3 {
		t.Fatalf("%v %+v", err, l)
	}
	req := Request{Steps: []uint64{2}, Roots: []string{d.root}}
	if _, err := d.store.Undo(l, req); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged step: %v", err)
	}
	req.Steps = []uint64{3}
	if _, err := d.store.Undo(l, req); err != nil {
		t.Errorf("the step after it: %v", err)
	}
	if got := snapshot(t, d.root); got != trees[2] {
		t.Errorf("after undo:\n%s", apart(got, trees[2]))
	}
}

// TestLoopsAndTwins: steps that take each other back, and two of one number.
func TestLoopsAndTwins(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	before := snapshot(t, d.root)
	root := []journal.Bytes{journal.Bytes(d.root)}
	var records []*journal.Record
	for n, of := range map[uint64][]uint64{1: {3}, 2: {1}, 3: {2, 3}, 4: {4}, 5: {99}} {
		kind := journal.StepUndo
		if n%2 == 1 {
			kind = journal.StepRedo
		}
		records = append(records, &journal.Record{Step: n, Begin: &journal.Begin{Kind: kind, Of: of, Roots: root}}, &journal.Record{Step: n, End: &journal.End{}})
	}
	records = append(records, &journal.Record{Step: journal.MaxNumber + 1, Begin: &journal.Begin{Kind: journal.StepRun}}, &journal.Record{Step: 0, Begin: &journal.Begin{Kind: journal.StepRun}})
	d.forge("00000000000000fe-a", records...)
	for _, r := range records {
		r.Stamp = 0
	}
	d.forge("00000000000000ff-b", records...)
	d.everything()
	if got := snapshot(t, d.root); got != before {
		t.Errorf("changed:\n%s", apart(got, before))
	}
	l, err := d.store.Read()
	if err != nil || len(l.Damaged) == 0 {
		t.Errorf("nobody is told: %v %+v", err, l)
	}
	w, err := d.store.NewWriter("after", []string{d.root})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := w.Begin(journal.Begin{Kind: journal.StepRun}); err != nil || n <= 5 {
		t.Errorf("the next step: %d %v", n, err)
	}
	_ = w.Close()
	if err != nil && strings.Contains(err.Error(), "counters") {
		t.Error(err)
	}
}
