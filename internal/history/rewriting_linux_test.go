package history

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEditAfterAKilledRewrite: what a user writes to a file of several names, after an
// undo was killed at whatever point, is in the tree or kept when the undo is finished.
func TestEditAfterAKilledRewrite(t *testing.T) {
	for at := 0; ; at++ {
		d := newDesk(t)
		d.fill(t)
		d.begin(t)
		d.write(t, "l1", "changed")
		d.end(t)
		d.close(t)
		l := d.read(t)
		var err error
		if !crash(at, func() { _, err = d.store.Undo(l, Request{Steps: []uint64{1}, Roots: []string{d.root}}) }) {
			if err != nil || at < 10 {
				t.Fatalf("the undo ended after %d calls: %v", at, err)
			}
			return
		}
		f, err := os.OpenFile(d.at("l2"), os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString("by the user")
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		d.recover(t)
		got, _ := os.ReadFile(d.at("l1"))
		kept, _ := filepath.Glob(d.store.Dir() + "/objects/*/*")
		for _, name := range kept {
			text, _ := os.ReadFile(name)
			got = append(got, text...)
		}
		if !strings.Contains(string(got), "by the user") {
			t.Fatalf("killed at call %d: the edit is gone; the file holds %q", at, got)
		}
	}
}

// TestRewriteKilledInTheMiddle: an undo that was killed while it wrote to a file of several
// names, or had no room to write more, is finished.
func TestRewriteKilledInTheMiddle(t *testing.T) {
	met := 0
	for at := 0; ; at++ {
		d := newDesk(t)
		d.fill(t)
		by(t, os.WriteFile(d.at("l1"), []byte(strings.Repeat("found", 4000)), 0o600))
		before := inside(t, d)
		d.begin(t)
		d.write(t, "l1", "changed")
		d.end(t)
		d.close(t)
		l := d.read(t)
		if !crash(at, func() { _, _ = d.store.Undo(l, Request{Steps: []uint64{1}, Roots: []string{d.root}}) }) {
			break
		}
		if st, err := os.Stat(d.at("l1")); err != nil || st.Size() > 0 {
			continue
		}
		met++
		by(t, os.WriteFile(d.at("l1"), []byte(strings.Repeat("found", 1000)), 0o600)) // as far as it came
		d.recover(t)
		if got := inside(t, d); got != before {
			t.Errorf("killed at call %d: %s", at, apart(got, before))
		}
	}
	if met == 0 {
		t.Error("none was killed as it began to write")
	}
}
