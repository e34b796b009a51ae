package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"

	"carrel/internal/op"
	"carrel/internal/taskplan"
)

// later are tools that plans name where they are offered, and that nobody offers yet.
var later = []string{"workspace_browser_", "viewer"}

// TestStepsAreCalls holds every step that a plan can hold against the real parameters.
func TestStepsAreCalls(t *testing.T) {
	tools := map[string]*Tool{}
	for _, tool := range Tools() {
		tools[tool.Name] = &tool
	}
	for _, step := range taskplan.Steps() {
		tool := tools[step.Tool]
		if tool == nil {
			if !strings.HasPrefix(step.Tool, later[0]) && step.Tool != later[1] {
				t.Errorf("%s: there is no tool %s", step.ID, step.Tool)
			}
			continue
		}
		for _, a := range step.Args {
			p := tool.In.Properties[a.Name]
			if p == nil {
				t.Errorf("%s: %s has no parameter %s", step.ID, step.Tool, a.Name)
				continue
			}
			if a.Value == nil {
				continue
			}
			resolved, err := p.Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			var plain any
			text, _ := json.Marshal(a.Value)
			_ = json.Unmarshal(text, &plain)
			if err := resolved.Validate(plain); err != nil {
				t.Errorf("%s: %s of %s: %v", step.ID, a.Name, step.Tool, err)
			}
		}
	}
}

// TestCatalogAgrees: what a client is told by annotations, the catalog says as well, and
// the guard of plans decides as that of calls.
func TestCatalogAgrees(t *testing.T) {
	for _, tool := range Tools() {
		a, p := annotations(&tool), planned(&tool)
		if a.ReadOnlyHint != p.ReadOnly || *a.DestructiveHint != p.Destructive || a.IdempotentHint != p.Idempotent || *a.OpenWorldHint != p.OpenWorld || p.Mutating == p.ReadOnly {
			t.Errorf("%s: %+v %+v", tool.Name, a, p)
		}
		known := map[Control]bool{op.Always: true, Observes: true, op.Steers: true, WhenActive: true, OrDryRun: true, op.OrInside: true, op.SafetyStop: true}
		if !known[tool.Control] {
			t.Errorf("%s: control %q", tool.Name, tool.Control)
		}
		for _, arguments := range []map[string]any{{}, {"dry_run": true}, {"output_path": "x"}} {
			text, _ := json.Marshal(arguments)
			if got, want := taskplan.ControlBlocks("read_only", p, arguments), tool.blocked(text); got != want {
				t.Errorf("%s %s: a plan says %v, the guard %v", tool.Name, text, got, want)
			}
		}
	}
}
