package history

import (
	"os"
	"testing"

	"carrel/internal/history/journal"
)

// TestTakenBackInParts shows that a step that two undos took back in parts, and two redos
// made again, is taken back whole by its number, and that one part that is made again can
// be taken back although the other is not.
func TestTakenBackInParts(t *testing.T) {
	d := newDesk(t)
	text := func(name, want string) {
		t.Helper()
		if got, err := os.ReadFile(d.at(name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v, want %q", name, got, err, want)
		}
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(d.at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	do := func(want bool, req Request) { // want: the step is in force then
		t.Helper()
		if _, err := d.undo(t, req); err != nil {
			t.Fatal(err)
		}
		if l := d.read(t); l.Undone(l.Step(1)) == want {
			t.Errorf("after %+v: is step 1 undone: %v", req, !want)
		}
	}
	put("a", "1")
	put("b", "1")
	d.begin(t)
	d.write(t, "a", "2")
	d.write(t, "b", "2")
	d.end(t)
	d.close(t)
	put("a", "mine")
	do(true, Request{Steps: []uint64{1}, Mode: journal.Skip}) // 2
	put("a", "2")
	do(false, Request{Steps: []uint64{1}}) // 3
	text("a", "1")
	text("b", "1")
	do(true, Request{Steps: []uint64{2}, Redo: true}) // 4: b alone
	text("b", "2")
	do(false, Request{Steps: []uint64{1}}) // 5
	text("a", "1")
	text("b", "1")
	do(true, Request{Steps: []uint64{5}, Redo: true})
	do(true, Request{Steps: []uint64{3}, Redo: true})
	text("a", "2")
	text("b", "2")
	do(false, Request{Steps: []uint64{1}})
	text("a", "1")
	text("b", "1")
}
