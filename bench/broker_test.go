package main

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"
)

func TestGeometricMean(t *testing.T) {
	if got := geometricMean([]float64{1, 4}); got != 2 {
		t.Errorf("of 1 and 4: %v, want 2", got)
	}
	for _, list := range [][]float64{nil, {1, math.NaN()}} {
		if got := geometricMean(list); !math.IsNaN(got) {
			t.Errorf("of %v: %v, want none", list, got)
		}
	}
}

func TestMicros(t *testing.T) {
	if got, err := micros("1500\n"); err != nil || got != 1.5 {
		t.Errorf("%v ms, %v; want 1.5", got, err)
	}
	for _, bad := range []string{"", "soon", "1500\n1500\n"} {
		if got, err := micros(bad); err == nil {
			t.Errorf("%q was read as %v ms", bad, got)
		}
	}
}

// TestDriveCalls: every kind is measured, and nothing is left.
func TestDriveCalls(t *testing.T) {
	if errors.Is(writable(t.TempDir()), errors.ErrUnsupported) {
		t.Skip("access is not measured here")
	}
	dir := t.TempDir() + "/w"
	var out strings.Builder
	if err := driveCalls(&out, dir); err != nil {
		t.Fatal(err)
	}
	for _, kind := range callKinds {
		if !strings.Contains(out.String(), kind+"=") {
			t.Errorf("%s is not in\n%s", kind, out.String())
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s was left", dir)
	}
}

// TestJobsOfMissingPrograms have no number.
func TestJobsOfMissingPrograms(t *testing.T) {
	ways := []way{{wayOn, func(c []string) []string { return c }}}
	c := job{name: "x", needs: []string{"no-such-program"}}.contenders(ways)
	if !errors.Is(c[0].problem, errMissing) || !strings.Contains(c[0].problem.Error(), "no-such-program") {
		t.Errorf("problem %v: want one that names the program", c[0].problem)
	}
	if c := (job{name: "x", work: "true"}).contenders(ways); c[0].problem != nil || len(c[0].argv) != 3 {
		t.Errorf("problem %v, %q", c[0].problem, c[0].argv)
	}
}
