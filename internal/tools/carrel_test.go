package tools

import (
	"os/exec"
	"testing"
)

// TestLimitedHoldsForPrograms: what a program writes is bounded also where package os/exec copies it.
func TestLimitedHoldsForPrograms(t *testing.T) {
	var out limited
	cmd := exec.Command("/usr/bin/head", "-c", "5000000", "/dev/zero")
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil || out.kept.Len() != maxPrinted || !out.over {
		t.Errorf("%d bytes, %v, %v", out.kept.Len(), out.over, err)
	}
}
