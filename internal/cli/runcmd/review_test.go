package runcmd

import (
	"bytes"
	"strings"
	"testing"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/op/runop"
)

// TestTellLayer: what a layer holds is said, and what can be done with it.
func TestTellLayer(t *testing.T) {
	for _, tt := range []struct {
		left *runop.Ended
		want []string
	}{
		{nil, nil},
		{&runop.Ended{}, []string{"nothing to review"}},
		{&runop.Ended{ID: "abcdef", Added: 2, Conflicts: 1}, []string{"layer abcdef: 2 added, 1 in conflict;", "`carrel review apply`"}},
		{&runop.Ended{ID: "abcdef", Modified: 1, Removed: 3, Refused: 4, Full: true, Bound: 5 << 20},
			[]string{"1 modified, 3 removed, 4 that cannot be applied", "more than 5 MiB"}},
	} {
		var out bytes.Buffer
		tellLayer(&cmdenv.Env{Err: &out}, tt.left)
		if tt.want == nil && out.Len() > 0 {
			t.Errorf("%+v: %s", tt.left, out.String())
		}
		for _, want := range tt.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%+v: %q is not said: %s", tt.left, want, out.String())
			}
		}
	}
}
