package history

import (
	"os"
	"strings"
	"testing"

	"carrel/internal/history/journal"
)

// TestUndoKeepsEditsOfEmptyFiles shows that a file that was empty, and that a step did
// not write to, is not made empty by its undo: what another program wrote to it stays.
func TestUndoKeepsEditsOfEmptyFiles(t *testing.T) {
	const mine = "written by the user"
	for _, c := range []struct {
		name string
		do   func(t *testing.T, d *desk)
		edit string // the name by which the user writes
		want string // where that is afterwards
		mode journal.Mode
	}{
		{"one of two names removed", func(t *testing.T, d *desk) { d.remove(t, "second") }, "empty", "empty", journal.Abort},
		{"the mode changed", func(t *testing.T, d *desk) {
			d.act(t, Meta, d.at("alone"), "", func() error { return os.Chmod(d.at("alone"), 0o640) })
		}, "alone", "alone", journal.KeepBoth},
		{"renamed", func(t *testing.T, d *desk) { d.rename(t, "alone", "moved") }, "moved", "alone", journal.KeepBoth},
		{"written to", func(t *testing.T, d *desk) { d.write(t, "alone", "by the step") }, "alone", "alone.undo-conflict", journal.KeepBoth},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			d.fill(t)
			if err := os.Link(d.at("empty"), d.at("second")); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(d.at("alone"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			d.begin(t)
			c.do(t, d)
			d.end(t)
			d.close(t)
			if err := os.WriteFile(d.at(c.edit), []byte(mine), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := d.undo(t, Request{Steps: []uint64{1}, Mode: c.mode}); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(d.at(c.want)); err != nil || string(got) != mine {
				t.Errorf("%s holds %q, %v", c.want, got, err)
			}
		})
	}
}

// TestUndoRefusesATornObject shows that an object that lost its end, as a loss of power
// may leave one, does not take the place of what is there.
func TestUndoRefusesATornObject(t *testing.T) {
	for _, name := range []string{"a", "l1"} { // by an exchange, and in place
		d := newDesk(t)
		d.fill(t)
		d.begin(t)
		d.write(t, name, "new content")
		d.end(t)
		d.close(t)
		pre, _ := d.read(t).Step(1).PreOf(d.at(name))
		at := d.store.Dir() + "/objects/" + pre.Object.Segment + "/" + journal.ObjectName(pre.Object.Number)
		if err := os.Truncate(at, 3); err != nil {
			t.Fatal(err)
		}
		before := snapshot(t, d.root)
		if _, err := d.undo(t, Request{Steps: []uint64{1}}); err == nil || !strings.Contains(err.Error(), "not what was kept") {
			t.Errorf("%s: %v", name, err)
		}
		if got := snapshot(t, d.root); got != before {
			t.Errorf("%s: refused, and changed:\n%s", name, apart(got, before))
		}
	}
}
