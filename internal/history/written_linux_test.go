package history

import (
	"os"
	"testing"

	"carrel/internal/history/journal"
)

// TestKeptByAnother: what is still written when a step ends goes on in the step of
// another writer, and neither is in the way of the other.
func TestKeptByAnother(t *testing.T) {
	for _, order := range [][]uint64{{2, 3, 1}, {3, 2, 1}} {
		a := newDesk(t)
		a.fill(t)
		b := a.second(t)
		before := snapshot(t, a.root)
		a.begin(t)
		var log *os.File
		a.act(t, Make, a.at("log"), "", func() (err error) {
			log, err = os.OpenFile(a.at("log"), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
			return err
		})
		a.act(t, Content, a.at("log"), "", func() error { _, err := log.WriteString("one\n"); return err })
		written := a.w.StillWritten()
		if len(written) != 1 || written[0].Path != a.at("log") || a.w.WrittenBytes() != 4 || !a.w.IsWritten(written[0]) || written[0].ID == (journal.ID{}) {
			t.Fatalf("still written: %+v", written)
		}
		if n, err := a.w.EndWith(0, &journal.Begin{Kind: journal.StepRun}, nil); n != 0 || err != nil {
			t.Fatalf("%d %v", n, err)
		}
		if err := a.w.Keep(written); err == nil {
			t.Error("kept for no step")
		}
		b.begin(t)
		if err := b.w.Keep(written); err != nil {
			t.Fatal(err)
		}
		a.begin(t)
		a.write(t, "a", "edited")
		if _, err := log.WriteString("two\n"); err != nil {
			t.Fatal(err)
		}
		log.Close()
		if still := b.w.StillWritten(); len(still) > 0 || b.w.WrittenBytes() > 0 || b.w.IsWritten(written[0]) {
			t.Errorf("nobody has it open: %+v", still)
		}
		a.end(t)
		b.end(t)
		a.close(t)
		b.close(t)
		for _, n := range order {
			if _, err := a.undo(t, Request{Steps: []uint64{n}}); err != nil {
				t.Fatalf("undo of %d: %v", n, err)
			}
			if got, _ := os.ReadFile(a.at("log")); n == 2 && string(got) != "one\n" {
				t.Errorf("the log is %q", got)
			}
		}
		if got := snapshot(t, a.root); got != before {
			t.Errorf("after undo of %d:\n%s", order, apart(got, before))
		}
	}
}
