package stage_test

import (
	"testing"

	"carrel/internal/processes"
	"carrel/internal/sandbox"
)

// TestProcfsOfTheWalls: the stage gives the supervisor the procfs of its own processes,
// and nothing where the plan has none.
func TestProcfsOfTheWalls(t *testing.T) {
	p, _ := room(t)
	p.Command = shell("sleep 60 & exec sleep 60")
	w, err := launch(t, p)
	if err != nil {
		t.Fatal(err)
	}
	n := processes.NewNamespace(w.PID(), w.Procfs)
	t.Cleanup(n.Close)
	w.Procfs = nil
	if count, known := n.Counts(); !known || len(count) != 0 {
		t.Errorf("%v, known %v, want no label", count, known)
	}
	p, _ = room(t)
	p.Mounts = p.Mounts[1:]
	if p.Command = shell("exec sleep 60"); sandbox.MountProc == p.Mounts[0].Kind {
		t.Fatal("the plan has a procfs still")
	}
	if w, err = launch(t, p); err != nil {
		t.Fatal(err)
	}
	if w.Procfs != nil {
		t.Error("a procfs comes of a plan that has none")
	}
}
