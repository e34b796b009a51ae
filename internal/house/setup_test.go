package house

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// TestSetupUsage: .ci/setup without one of its two words installs nothing, and says them.
func TestSetupUsage(t *testing.T) {
	for _, args := range [][]string{nil, {""}, {"tests"}, {"test", "bench"}} {
		out, err := exec.Command("bash", append([]string{"../../.ci/setup"}, args...)...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.HasPrefix(string(out), "usage: .ci/setup test|bench\n") {
			t.Errorf("%q: %v, %q", args, err, out)
		}
	}
}
