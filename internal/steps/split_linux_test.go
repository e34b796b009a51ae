package steps

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"carrel/internal/broker"
	"carrel/internal/history"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// testRecorder gives the recorder of a run that has done nothing yet, in a new directory.
func testRecorder(t *testing.T) (*Recorder, string) {
	t.Helper()
	root := t.TempDir()
	c := &common{dir: t.TempDir() + "/history", noted: func() {}, roots: []string{root}, guard: newSafeguard(time.Second)}
	k := &Recorder{line: line{common: c, run: journal.Begin{Kind: journal.StepRun, Run: "run"}}, over: make(chan struct{})}
	k.jobs = newJobs(k, 1)
	k.kin = k.jobs
	return k, root
}

// makeFile has a recorder record that a file is made, and makes it.
func makeFile(k *Recorder, root, name string) error {
	ch := &broker.Change{Op: broker.OpCreate, Path: root + "/" + name, Dir: -1, ToDir: -1, Name: name}
	if err := k.Before(ch); err != nil {
		return err
	}
	err := os.WriteFile(ch.Path, nil, 0o600)
	k.After(ch, err)
	return err
}

// TestStepsAreBounded: a step that has become too large to be kept in memory goes on
// as another one; as long as it cannot, since somebody waits for an answer, nothing
// more is changed.
func TestStepsAreBounded(t *testing.T) {
	was := maxStepHeld
	defer func() { maxStepHeld = was }()
	maxStepHeld = 100_000
	k, root := testRecorder(t)
	next := 0
	create := func() error {
		next++
		return makeFile(k, root, fmt.Sprintf("f%d", next))
	}
	for range 1000 {
		if err := create(); err != nil {
			t.Fatal(err)
		}
		if held := k.writer.Held(); held > maxStepHeld {
			t.Fatalf("%d bytes held after %d changes", held, next)
		}
	}
	if n := len(k.all); n < 5 || n > 20 {
		t.Errorf("%d steps", n)
	}

	k.gate.RLock() // one that waits
	var err error
	for range 1000 {
		if err = create(); err != nil {
			break
		}
	}
	k.gate.RUnlock()
	if !errors.Is(err, unix.EDQUOT) || k.writer.Held() > 3*maxStepHeld {
		t.Errorf("while one waits: %v, %d bytes held", err, k.writer.Held())
	}
	_ = create() // ends the step, at last
	if err := create(); err != nil {
		t.Errorf("and then: %v", err)
	}

	steps, files := len(k.all), 0
	if err := k.Close(0); err != nil {
		t.Fatal(err)
	}
	store, err := history.Open(k.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	log, err := store.ReadSegment(k.writer.Segment())
	if err != nil || len(log.Steps) != steps {
		t.Fatalf("%d steps of %d: %v", len(log.Steps), steps, err)
	}
	for _, s := range log.Steps {
		files += s.Counts().Added
	}
	if entries, _ := os.ReadDir(root); len(entries) != files {
		t.Errorf("the steps tell of %d files, there are %d", files, len(entries))
	}
}
