package decide

import (
	"testing"

	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// TestPlanKeepsContainer: a plan that is made anew, because something has gone while the
// workspace was starting, is for the same container.
func TestPlanKeepsContainer(t *testing.T) {
	d := newSavedHome(t)
	p, err := Prepare(Request{Argv: []string{"true"}, Default: policy.Agent, Cwd: d.project, Environ: d.environ})
	if err == nil {
		err = p.Preview()
	}
	if err != nil {
		t.Fatal(err)
	}
	container := struct{ sandbox.Container }{}
	p.Plan.Container = container
	if err := p.Compile(false); err != nil {
		t.Fatal(err)
	}
	if p.Plan.Container != container {
		t.Error("the new plan has no container")
	}
}
