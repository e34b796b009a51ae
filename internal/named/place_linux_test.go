package named

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"carrel/internal/api"
)

func take(t *testing.T, state, name string) *Place {
	t.Helper()
	p, err := Take(state, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// TestOneProcessHoldsAName: a name is held until its holder lets go of it, and what was
// written down is then read as that of a workspace with a killed supervisor.
func TestOneProcessHoldsAName(t *testing.T) {
	state := t.TempDir()
	if err := os.Mkdir(filepath.Join(state, "workspaces"), 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := Take(state, "one")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Take(state, "one"); !errors.Is(err, ErrTaken) {
		t.Errorf("a second holder: %v", err)
	}
	if _, err := Sweep(state, "one", false, true); !errors.Is(err, ErrTaken) {
		t.Errorf("it is removed while it is held: %v", err)
	}
	if err := p.KeepManifest(&api.Desk{State: api.StateRunning, Apps: []api.App{{ID: "a1", Running: true}}}, true); err != nil {
		t.Fatal(err)
	}
	if d, err := Read(state, "one"); err != nil || d.State != api.StateRunning {
		t.Errorf("held: %q, %v", d.State, err)
	}
	p.Close()
	if d, err := Read(state, "one"); err != nil || d.State != api.StateStopped || d.Apps[0].Running || len(d.Notes) != 1 {
		t.Errorf("after its holder: %+v, %v", d, err)
	}
}

// TestControlThatCannotBeRead: a mode that was damaged is no reason to go on as if a
// person had wanted nothing.
func TestControlThatCannotBeRead(t *testing.T) {
	state := t.TempDir()
	if err := os.Mkdir(filepath.Join(state, "workspaces"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := take(t, state, "one")
	if c := p.Control(); c.Mode != api.ControlActive {
		t.Errorf("at first: %q", c.Mode)
	}
	if err := p.KeepControl(api.Control{Mode: api.ControlReadOnly}); err != nil || p.Control().Mode != api.ControlReadOnly {
		t.Errorf("kept: %q, %v", p.Control().Mode, err)
	}
	if err := os.WriteFile(filepath.Join(state, "workspaces/one", controlFile), []byte(`{"mode":"free"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if c := p.Control(); c.Mode != api.ControlPaused {
		t.Errorf("damaged: %q", c.Mode)
	}
}

// TestLogsOfAStoppedWorkspace: what an app has written is found by its id or name, and
// goes with the workspace.
func TestLogsOfAStoppedWorkspace(t *testing.T) {
	state := t.TempDir()
	if err := os.Mkdir(filepath.Join(state, "workspaces"), 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := Take(state, "one")
	if err != nil {
		t.Fatal(err)
	}
	for _, stream := range []string{api.StreamStdout, api.StreamStderr} {
		l, err := p.CreateLog("a1", stream)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(l, stream); err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
	if err := p.KeepManifest(&api.Desk{Apps: []api.App{{ID: "a1", Name: "build"}}}, true); err != nil {
		t.Fatal(err)
	}
	p.Close()
	got := ""
	err = Logs(context.Background(), state, "one", "build", api.Request{}, func(o *api.Output) error { got += o.Stream + "=" + string(o.Data) + " "; return nil })
	if err != nil || got != "stdout=stdout stderr=stderr " {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Sweep(state, "one", false, false); err != nil {
		t.Error(err)
	}
	if list, err := List(state); err != nil || len(list) != 0 {
		t.Errorf("after it was removed: %v, %v", list, err)
	}
}
