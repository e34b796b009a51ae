package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGroupFiles: what is written into a group, with each version of them, in a directory that stands
// for one.
func TestGroupFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "carrel-x")
	c := &Cgroup{}
	for _, file := range []string{"memory.max", "pids.max"} { // one group for both
		if err := c.make(dir, file, "100"); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Join(42); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"memory.max": "100", "pids.max": "100", "cgroup.procs": "42"} {
		if text, err := os.ReadFile(dir + "/" + file); string(text) != want || err != nil {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}
	if dirs := c.Dirs(); len(dirs) != 1 || (*Cgroup)(nil).Dirs() != nil {
		t.Errorf("directories: %q", dirs)
	}
	for text, want := range map[string]bool{
		"low 0\noom 3\noom_kill 0\n": false, "low 0\noom 0\noom_kill 2\n": true, "oom_kill_disable 1\nunder_oom 0\noom_kill 1\n": true,
		"oom_kill_disable 1\nunder_oom 0\n": false, "": false,
	} {
		for _, file := range []string{"memory.events", "memory.oom_control"} {
			if err := os.WriteFile(dir+"/"+file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := c.Exceeded(); got != want {
				t.Errorf("%s %q: %v", file, text, got)
			}
			os.Remove(dir + "/" + file)
		}
	}
	if err := c.Remove(); err == nil { // a group is no directory with files
		t.Error("what cannot be removed is told as removed")
	}
	if err := c.make(dir+"/none/x", "pids.max", "1"); !errors.Is(err, os.ErrNotExist) ||
		!strings.Contains(err.Error(), "making a control group") {
		t.Errorf("where no group may be made: %v", err)
	}
	if err := c.make(dir, ".", "1"); err == nil || !strings.Contains(err.Error(), "limiting the control group") {
		t.Errorf("a limit that is refused: %v", err)
	}
	own := map[string]string{}
	if err := c.limit(own, "x", "memory", "1"); err == nil || !strings.Contains(err.Error(), "no memory controller") {
		t.Errorf("without a controller: %v", err)
	}
}

// TestOwnGroups: what the kernel says of this process's own group is found below the root of them,
// where they are mounted.
func TestOwnGroups(t *testing.T) {
	own, err := ownGroups()
	if err != nil || len(own) == 0 {
		t.Fatalf("%v, %v", own, err)
	}
	for controller, path := range own {
		if !strings.HasPrefix(path, "/") || strings.Contains(controller, ":") {
			t.Errorf("%q: %q", controller, path)
		}
	}
	if err := CanLimitPids(); err == nil { // and nothing is left of the try
		for controller, path := range own {
			left, _ := filepath.Glob(filepath.Join(cgroupRoot, controller, path, "carrel-probe-*"))
			if len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		}
	}
}
