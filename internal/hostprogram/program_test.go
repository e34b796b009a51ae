package hostprogram

import (
	"strings"
	"testing"
)

// TestProgramIsBounded: a helper that says more than it may is ended, on both of its streams.
func TestProgramIsBounded(t *testing.T) {
	shell := &Program{Path: "/bin/sh", Env: []string{"PATH=/usr/bin:/bin"}}
	for _, script := range []string{"head -c 5000 /dev/zero", "head -c 5000 /dev/zero >&2"} {
		if out, _, err := shell.Run(t.Context(), nil, 1000, "-c", script); err == nil || !strings.Contains(err.Error(),
			"said more than 1000 bytes") {
			t.Errorf("%s: %d bytes, %v", script, len(out), err)
		}
	}
	if out, _, err := shell.Run(t.Context(), []byte("in"), 1000, "-c", "cat"); err != nil || string(out) != "in" {
		t.Errorf("%q, %v", out, err)
	}
}
