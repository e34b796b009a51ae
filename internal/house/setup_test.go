package house

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestSetupUsage: .ci/setup without one of its two words installs nothing, and says them.
func TestSetupUsage(t *testing.T) {
	for _, args := range [][]string{nil, {""}, {"tests"}, {"test", "bench"}} {
		out, err := exec.Command("bash", append([]string{"../../.ci/setup"}, args...)...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.HasPrefix(string(out), "usage: .ci/setup test|bench|lima|vm\n") {
			t.Errorf("%q: %v, %q", args, err, out)
		}
	}
}

// TestPackagesOfEachList: a line of a list counts for all, or for the word before its name, also
// where what it is for has a colon.
func TestPackagesOfEachList(t *testing.T) {
	list, err := os.ReadFile("../../.ci/debian-packages")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("../../.ci/setup")
	if err != nil {
		t.Fatal(err)
	}
	_, function, found := strings.Cut(string(script), "\nwanted() {\n")
	function, _, ended := strings.Cut(function, "\n}\n")
	if !found || !ended {
		t.Fatal(".ci/setup has no function wanted")
	}
	for _, what := range []string{"test", "bench", "lima", "vm"} {
		cmd := exec.Command("bash", "-c", "wanted() {\n"+function+"\n}\nwanted ../../.ci/debian-packages")
		cmd.Env = append(os.Environ(), "what="+what)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var got, want []string
		for line := range strings.Lines(string(out)) {
			got = append(got, strings.Fields(line)[0])
		}
		for line := range strings.Lines(string(list)) {
			words := strings.Fields(line)
			switch {
			case len(words) == 0 || words[0] == "#":
			case !strings.HasSuffix(words[0], ":"):
				want = append(want, words[0])
			case words[0] == what+":":
				want = append(want, words[1])
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
}
