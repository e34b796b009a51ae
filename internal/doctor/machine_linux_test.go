package doctor

import (
	"os"
	"path/filepath"
	"testing"

	"carrel/internal/sandbox"
	"carrel/internal/sandbox/stage"
)

// TestMain makes the test binary the stage where it is started as one.
func TestMain(m *testing.M) {
	if sandbox.IsStage(os.Args[0]) {
		stage.Main()
	}
	os.Exit(m.Run())
}

// TestThisMachine makes the real probes where the other tests of this module
// build walls too: what they need must be found, and nothing may stay behind.
func TestThisMachine(t *testing.T) {
	state := t.TempDir()
	r := Examine(This(os.Getenv, state))
	if !r.Ready {
		t.Errorf("not ready, yet walls are needed by the tests: %v", r.Lacking())
		for _, c := range r.Checks {
			t.Logf("%s: %s: %s", c.Status, c.Name, c.Found)
		}
	}
	if left, err := os.ReadDir(state); err != nil || len(left) > 0 {
		t.Errorf("left behind in the state directory: %v, %v", left, err)
	}
}

// TestTrialsAsk: a trial whose plan cannot be built is an error with its errno.
func TestTrialsAsk(t *testing.T) {
	if err := try(TrialOverlay, t.TempDir()); err != nil {
		t.Logf("overlay: %v", err) // may be refused by the file system
	}
	plan, clean, err := trialPlan(TrialMounts, "")
	defer clean()
	if err != nil {
		t.Fatal(err)
	}
	plan.Mounts[1].Source = "/no/such/source"
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	_, err = sandbox.Launch(plan, selfExe, nil, [3]*os.File{null, null, null}, nil, nil, nil)
	if got := errnoNames[errnoOf(err)]; got != "ENOENT" {
		t.Errorf("got %v, errno %q, want ENOENT", err, got)
	}
}

func TestLookAt(t *testing.T) {
	dir := t.TempDir()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, path, nearest    string
		exists, safe, writable bool
	}{
		{name: "there", path: real, nearest: real, exists: true, safe: true, writable: true},
		{name: "to be made", path: real + "/a/b", nearest: real, safe: true, writable: true},
		{name: "open to everybody", path: open, nearest: open, exists: true, writable: true},
		{name: "no place", path: "", writable: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := lookAt(tt.path)
			if got.Nearest != tt.nearest || got.Exists != tt.exists || got.Safe != tt.safe || (got.Denied == nil) != tt.writable {
				t.Errorf("got %+v", got)
			}
			if got.Known != (tt.path != "") {
				t.Errorf("free space known: %v", got.Known)
			}
		})
	}
}
