package stage_test

import (
	"errors"
	"os"
	"testing"

	"carrel/internal/sandbox"
)

// TestALayerOrNothing: what is to be kept is kept as the kernel writes it, and where it cannot be,
// nothing starts. Another overlay is replaced by what lies below, read-only.
func TestALayerOrNothing(t *testing.T) {
	over := func(upper, work string, kept bool) func(p *sandbox.Plan, dir string) {
		return func(p *sandbox.Plan, dir string) {
			p.Mounts = append(p.Mounts, sandbox.Mount{Kind: sandbox.MountOverlay, Target: "/tmp/over", Source: dir, Lower: dir, Upper: upper,
				Work: work, Dir: true, Kept: kept})
		}
	}
	upper, work := t.TempDir(), t.TempDir()
	w, dir := standing(t, over(upper, work, true))
	if said, e := output(t, w, shell("echo kept >/tmp/over/new; grep ' /tmp/over ' /proc/self/mounts | grep -c "+
		"volatile")); said != "0\n" || e.Code != 1 {
		t.Errorf("%q %+v", said, e)
	}
	if text, err := os.ReadFile(upper + "/new"); err != nil || string(text) != "kept\n" {
		t.Errorf("in the layer: %q %v", text, err)
	}
	if _, err := os.Lstat(dir + "/new"); err == nil {
		t.Error("the change has gone through the layer")
	}
	for _, kept := range []bool{true, false} {
		p, dir := room(t)
		p.Mounts = append(p.Mounts, bindOf(t, dir))
		p.Command = shell("exec sleep 300")
		over(upper+"/none", work, kept)(p, dir)
		_, err := launch(t, p)
		var setup *sandbox.SetupError
		if kept != errors.As(err, &setup) || kept && (setup.Step != sandbox.StepLayer || setup.Path != dir) {
			t.Errorf("kept %v: %v", kept, err)
		}
	}
}
