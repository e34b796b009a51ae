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

func TestSelfTimed(t *testing.T) {
	got, err := selfTimed(t.TempDir(), os.Environ(), []string{"/bin/echo", "1500"})
	if err != nil || got != 1.5 {
		t.Errorf("%v ms, %v; want 1.5", got, err)
	}
	if _, err := selfTimed(t.TempDir(), os.Environ(), []string{"/bin/echo", "soon"}); err == nil {
		t.Error("a word was taken for a time")
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
	b := &bench{fixture: &fixture{root: t.TempDir()}}
	ways := []way{{wayOn, func(c []string) []string { return c }}}
	if c := b.contenders(job{name: "x", needs: []string{"no-such-program"}}, ways); c[0].argv != nil {
		t.Errorf("%q", c[0].argv)
	}
	if c := b.contenders(job{name: "x", work: "true"}, ways); len(c[0].argv) != 3 {
		t.Errorf("%q", c[0].argv)
	}
}
