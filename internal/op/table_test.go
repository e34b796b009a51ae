package op

import (
	"slices"
	"testing"

	"carrel/internal/api"
)

// TestOperations: each operation and each name of a surface stands in the table once, and a
// program changes nothing where a workspace is to be looked at only, or is paused.
func TestOperations(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range operations {
		if seen[o.Name] {
			t.Errorf("%q stands twice", o.Name)
		}
		seen[o.Name] = true
		if o.Commands == "" && o.Tools == "" && o.Requests == "" {
			t.Errorf("%q can be asked for nowhere", o.Name)
		}
		refused := o.Control.RefusedIn()
		byProgram := o.Tools != "" || o.Requests != ""
		if o.Effect == Changes && byProgram && (!slices.Contains(refused, api.ControlReadOnly) || !slices.Contains(refused, api.ControlPaused)) {
			t.Errorf("%q changes something, and is refused in %q only", o.Name, refused)
		}
		if o.Effect == Looks && (o.Final || len(refused) > 0) {
			t.Errorf("%q looks, and is refused in %q", o.Name, refused)
		}
	}
	for surface, list := range map[string][]string{"MCP": Tools(), "JSON Lines": Requests(), "the command line": Commands()} {
		slices.Sort(list)
		for i := range list {
			if i > 0 && list[i] == list[i-1] {
				t.Errorf("%s of %s stands twice", list[i], surface)
			}
		}
	}
}

// TestRefused: a workspace under control, or of a paused project, refuses what changes it and
// nothing else.
func TestRefused(t *testing.T) {
	paused := &api.WorkspaceStatus{ProjectPaused: &api.ProjectPause{Project: "/p", By: "person"}}
	under := func(mode string) *api.WorkspaceStatus { return &api.WorkspaceStatus{Control: &api.Control{Mode: mode}} }
	for _, tt := range []struct {
		control Control
		status  *api.WorkspaceStatus
		refused bool
	}{
		{WhenActive, under(api.ControlActive), false}, {WhenActive, under(api.ControlReadOnly), true}, {WhenActive, under(api.ControlPaused),
			true},
		{WhenActive, under(api.ControlTakeover), true}, {WhenActive, paused, true}, {WhenActive, &api.WorkspaceStatus{}, false},
		{Observes, under(api.ControlPaused), false}, {Observes, paused, false}, {SafetyStop, under(api.ControlPaused), false},
		{OrDryRun, under("of another version"), true},
	} {
		if d := tt.control.Refuse("test", "shop", tt.status); (d != nil) != tt.refused {
			t.Errorf("%s under %+v: %v", tt.control, tt.status, d)
		}
	}
}

// TestNoToolLoosens: a model gives itself nothing, and nothing keeps a program from tightening
// by control or a pause. What JSON Lines loosens is the safeguards' alone.
func TestNoToolLoosens(t *testing.T) {
	for _, o := range operations {
		if o.Effect == Loosens && o.Tools != "" {
			t.Errorf("%q gives more than there was, as the tools %s", o.Name, o.Tools)
		}
		for _, r := range names(o.Requests) {
			if o.Effect == Loosens && r != "safeguard.confirm" && r != "safeguard.configure" {
				t.Errorf("%q gives more than there was, as the request %s", o.Name, r)
			}
		}
		if (o.Control == SafetyStop || o.Control == Steers) && len(o.Control.RefusedIn()) > 0 {
			t.Errorf("%q is refused in a workspace that stands still", o.Name)
		}
		if o.Control == SafetyStop && o.Effect != Tightens {
			t.Errorf("%q is let through everywhere, and %s", o.Name, o.Effect)
		}
	}
}

// TestRefusalNamesTheWorkspace: who is refused learns by whom, why, and who gives it back.
func TestRefusalNamesTheWorkspace(t *testing.T) {
	s := &api.WorkspaceStatus{Control: &api.Control{Mode: api.ControlTakeover, By: "person", Reason: "I look"}}
	d := WhenActive.Refuse("write_file", "dev", s)
	if d == nil || d.Code != api.CodeControl || d.Operation != "write_file" || d.Subject != "dev" || d.Rule != "control takeover" ||
		d.Source != "person" ||
		d.Message != `workspace "dev" is under control takeover, and nothing is changed meanwhile: I look` ||
		d.Hint != "a person gives it back with `carrel control dev active`" {
		t.Errorf("%+v", d)
	}
}

// TestModesRefuse: the kinds that change something are refused in each mode but active.
func TestModesRefuse(t *testing.T) {
	for c, refused := range map[Control]bool{Always: false, Observes: false, Steers: false, SafetyStop: false, WhenActive: true,
		OrDryRun: true, OrInside: true} {
		if modes := c.RefusedIn(); (len(modes) == 3) != refused || slices.Contains(modes, api.ControlActive) {
			t.Errorf("%s is refused in %q", c, modes)
		}
	}
}
