package named

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"carrel/internal/api"
	"carrel/internal/audit"
)

// TestAuditLogOutlivesItsPlace: what removes a workspace keeps both parts of its audit log
// among those of runs, by its id.
func TestAuditLogOutlivesItsPlace(t *testing.T) {
	const id = "0123456789abcdef"
	state := t.TempDir()
	for _, how := range []string{"sweep", "sweep under control", "remove"} {
		t.Run(how, func(t *testing.T) {
			if err := os.RemoveAll(state); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(state, "workspaces"), 0o700); err != nil {
				t.Fatal(err)
			}
			p := take(t, state, "one")
			if how == "sweep under control" {
				if err := p.KeepControl(api.Control{Mode: api.ControlPaused}); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.KeepManifest(&api.Desk{Manifest: api.Manifest{ID: id}}, true); err != nil {
				t.Fatal(err)
			}
			place := filepath.Join(state, "workspaces", "one")
			for _, part := range []string{audit.Older, audit.Name} {
				if err := os.WriteFile(filepath.Join(place, part), []byte(part+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			p.Close()
			var err error
			if how == "remove" {
				err = RemoveFreed(t.Context(), state, "one")
			} else {
				_, err = Sweep(state, "one", false, false)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{audit.Older, audit.Name} {
				if text, err := os.ReadFile(filepath.Join(state, runsDir, id, part)); string(text) != part+"\n" {
					t.Errorf("%s: %q, %v", part, text, err)
				}
			}
			if _, err := os.Lstat(filepath.Join(place, manifestFile)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the manifest stays: %v", err)
			}
			if _, err := os.Lstat(filepath.Join(place, controlFile)); (err == nil) != (how == "sweep under control") {
				t.Errorf("what a person wanted: %v", err)
			}
		})
	}
}

// TestPlacesGoWithTheirOwners: a sweep removes the place of a process that has ended, and no
// other: not that of one that runs, not one that is held, not one that stays.
func TestPlacesGoWithTheirOwners(t *testing.T) {
	state := t.TempDir()
	if err := os.Mkdir(filepath.Join(state, "workspaces"), 0o700); err != nil {
		t.Fatal(err)
	}
	owner := exec.Command("sleep", "600")
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	pid := owner.Process.Pid
	owners := map[string]int{"ended": pid, "held": pid, "lives": os.Getpid(), "stays": 0, "stays-again": pid}
	for name, pid := range owners {
		p := take(t, state, name)
		if err := p.BelongTo("ab", pid); err != nil {
			t.Fatal(err)
		}
		if name == "stays-again" {
			if err := p.BelongTo("ab", 0); err != nil {
				t.Fatal(err)
			}
		}
		if name != "held" {
			p.Close()
		}
	}
	_ = owner.Process.Kill()
	_ = owner.Wait()
	if err := SweepEnded(state); err != nil {
		t.Fatal(err)
	}
	for name := range owners {
		_, err := os.Lstat(filepath.Join(state, "workspaces", name))
		if gone := errors.Is(err, fs.ErrNotExist); gone != (name == "ended") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
