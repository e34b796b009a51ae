package history

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/history/store"

	"pgregory.net/rapid"
)

// verified wants a store with no fault, or gives them.
func (d *desk) verified(t fataler) []Fault {
	t.Helper()
	v, err := d.store.Verify()
	if err != nil {
		t.Fatalf("verifying: %v", err)
	}
	return v.Faults
}

// history makes some random steps, takes some back and makes some again.
func (d *desk) history(t *rapid.T) {
	for range rapid.IntRange(1, 4).Draw(t, "steps") {
		d.begin(t)
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			d.random(t)
		}
		d.end(t)
		if rapid.Bool().Draw(t, "another run") {
			d.close(t)
		}
	}
	if d.w != nil {
		d.close(t)
	}
	for range rapid.IntRange(0, 4).Draw(t, "undos") {
		l := d.read(t)
		undos := slices.DeleteFunc(slices.Clone(l.Steps), func(s *steplog.Step) bool { return s.Begin.Kind != journal.StepUndo || s.UndoneBy != 0 })
		if len(undos) > 0 && rapid.Bool().Draw(t, "redo") {
			_, _ = d.undo(t, Request{Steps: []uint64{undos[len(undos)-1].Number}, Redo: true})
			continue
		}
		r := Request{Steps: []uint64{rapid.SampledFrom(l.Changes()).Draw(t, "step").Number}}
		if rapid.Bool().Draw(t, "partly") {
			r.Paths = []string{d.at("dir")}
		}
		_, _ = d.undo(t, r) // a conflict is no matter here
	}
}

// TestVerifyFindsNothing: what happens without a crash leaves no fault.
func TestVerifyFindsNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		d.fill(t)
		d.history(rt)
		if faults := d.verified(rt); len(faults) > 0 {
			rt.Fatalf("faults: %+v", faults)
		}
	})
}

// TestVerifyFinds: what somebody else did to a store, or a disk.
func TestVerifyFinds(t *testing.T) {
	object := func(d *desk) string {
		found, _ := filepath.Glob(d.store.Dir() + "/objects/*/1")
		return found[0]
	}
	journal := func(d *desk) string {
		found, _ := filepath.Glob(d.store.Dir() + "/journal/*")
		return found[0]
	}
	for _, c := range []struct {
		name, code, why string
		do              func(d *desk) error
	}{
		{"an object is gone", store.FaultMissing, "not there", func(d *desk) error { return os.Remove(object(d)) }},
		{"an object is shorter", store.FaultOther, "3 bytes, and 12 were kept", func(d *desk) error { return os.Truncate(object(d), 3) }},
		{"an object is a link", store.FaultOther, "a symlink, and a file", func(d *desk) error {
			_ = os.Remove(object(d))
			return os.Symlink("/nonexistent/outside", filepath.Dir(journal(d))+"/../objects/"+filepath.Base(journal(d))+"/1")
		}},
		{"something that nothing refers to", store.FaultUnreferenced, "nothing refers", func(d *desk) error {
			return os.WriteFile(filepath.Dir(object(d))+"/ff", nil, 0o600)
		}},
		{"a name that is none", store.FaultStray, "such a name", func(d *desk) error {
			return os.WriteFile(filepath.Dir(object(d))+"/01", nil, 0o600)
		}},
		{"no name of a segment", store.FaultJournal, "no name", func(d *desk) error {
			return os.WriteFile(filepath.Dir(journal(d))+"/x", nil, 0o600)
		}},
		{"a record that is half written", "", "", func(d *desk) error {
			return appendTo(journal(d), "\x40\x00\x00\x00half")
		}},
		{"zeros behind the records", "", "", func(d *desk) error { return appendTo(journal(d), strings.Repeat("\x00", 5000)) }},
		{"a bit in the middle", store.FaultJournal, "unreadable before byte", func(d *desk) error {
			data, err := os.ReadFile(journal(d))
			if err == nil {
				data[len(data)/2] ^= 1
				err = os.WriteFile(journal(d), data, 0o600)
			}
			return err
		}},
		{"no file of what is discarded", store.FaultDiscarded, "listed again", func(d *desk) error {
			return os.WriteFile(d.store.Dir()+"/discarded", []byte("garbage"), 0o600)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			d.fill(t)
			d.begin(t)
			d.write(t, "a", "changed")
			d.write(t, "dir/f", "changed")
			d.end(t)
			d.close(t)
			if err := c.do(d); err != nil {
				t.Fatal(err)
			}
			faults := d.verified(t)
			if c.code == "" && len(faults) == 0 {
				return // that is no fault
			}
			if !slices.ContainsFunc(faults, func(f Fault) bool { return f.Code == c.code && strings.Contains(f.Why, c.why) }) {
				t.Fatalf("want %s: %s, got %+v", c.code, c.why, faults)
			}
		})
	}
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

// TestVerifyWhileSomebodyWrites: what is on its way is no fault.
func TestVerifyWhileSomebodyWrites(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	d.begin(t)
	d.write(t, "a", "changed")
	found, _ := filepath.Glob(d.store.Dir() + "/objects/*")
	onItsWay := found[0] + "/ff" // its record comes next
	if err := os.WriteFile(onItsWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := Open(d.store.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	v, err := other.Verify()
	if err != nil || len(v.Faults) > 0 || v.Running != 1 {
		t.Fatalf("%+v, %v", v, err)
	}
	if err := os.Remove(onItsWay); err != nil {
		t.Fatal(err)
	}
	d.kill()
	v, err = other.Verify()
	if err != nil || len(v.Faults) != 1 || v.Faults[0].Code != store.FaultInterrupted {
		t.Fatalf("after a kill: %+v, %v", v, err)
	}
	if _, err := d.store.Recover([]string{d.root}); err != nil {
		t.Fatal(err)
	}
	if f := d.verified(t); len(f) > 0 {
		t.Fatalf("after recovery: %+v", f)
	}
}

// discarded reads what the store says of steps that are gone: how many segments it names, and
// the last number that had been given.
func (d *desk) discarded(t fataler) (segments int, number uint64) {
	t.Helper()
	data, err := os.ReadFile(d.store.Dir() + "/discarded")
	if err != nil {
		t.Fatalf("%v", err)
	}
	for len(data) > 0 {
		r, n := journal.Decode(data)
		if n == 0 || r.Discard == nil {
			t.Fatalf("it cannot be read")
		}
		if data = data[n:]; r.Discard.Segment != "" {
			segments++
		}
		number = max(number, r.Step)
	}
	return segments, number
}
