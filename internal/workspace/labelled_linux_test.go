package workspace

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// TestLabelledOrphans: what has a label is found at each look, also at one during which
// it loses its parent.
func TestLabelledOrphans(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil { // as a stage is
		t.Fatal(err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	const label = 4711
	stage := os.Getpid()
	for range 300 {
		parent := exec.Command("sh", "-c", "sleep 5409 & sleep 5409 & wait")
		if !sandbox.SetLabel(label) {
			t.Fatal("no label can be set")
		}
		err := parent.Start()
		sandbox.SetLabel(0)
		if err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(10 * time.Second); len(labelled(stage, label)) != 3; {
			if time.Now().After(end) {
				t.Fatalf("found %v", labelled(stage, label))
			}
		}
		go func() { _ = parent.Process.Kill() }()
		for range 30 {
			if found := labelled(stage, label); len(found) < 2 {
				t.Errorf("found %v", found)
			}
		}
		_ = parent.Wait()
		left := labelled(stage, label)
		signalAll(left, syscall.SIGKILL)
		for _, p := range left {
			_, _ = unix.Wait4(p.pid, nil, 0, nil)
		}
		if t.Failed() {
			return
		}
	}
	if found := labelled(stage, label); len(found) != 0 {
		t.Errorf("left: %v", found)
	}
	// One with the same label that is not below.
	other := exec.Command("sleep", "5409")
	sandbox.SetLabel(label)
	err := other.Start()
	sandbox.SetLabel(0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = other.Process.Kill(), other.Wait() }()
	if found := labelled(other.Process.Pid, label); len(found) != 0 {
		t.Errorf("not below: %v", found)
	}
	if found := labelled(stage, label); len(found) != 1 {
		t.Errorf("below: %v", found)
	}
}
