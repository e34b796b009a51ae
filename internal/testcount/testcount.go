package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxOutput bounds what is kept of one test's output, in bytes. The end is
// kept: that is where it says why it failed.
const maxOutput = 64 << 10

// counter counts results and keeps the output of what has not ended yet.
type counter struct {
	out     io.Writer
	reasons []string

	passed, failed, skipped int

	output  map[string]string // by package and test; the package's own under ""
	running map[string]bool   // tests without a result
	skips   map[string]int    // skipped tests by package
	fails   map[string]int    // failed ones
	took    []took            // by tests and their subtests
}

// took is how long a test ran, in seconds.
type took struct {
	test    string
	seconds float64
}

// slow is from how many seconds on a test is worth a line, and maxSlow how many are shown.
const (
	slow    = 5
	maxSlow = 40
)

func newCounter(out io.Writer, reasons []string) *counter {
	return &counter{out: out, reasons: reasons, output: make(map[string]string), running: make(map[string]bool), skips: make(map[string]int), fails: make(map[string]int)}
}

func (t *counter) line() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", t.passed, t.failed, t.skipped)
}

func key(pkg, test string) string { return pkg + "\x00" + test }

func (t *counter) add(e event) {
	k := key(e.Package, e.Test)
	switch e.Action {
	case "build-output":
		fmt.Fprint(t.out, e.Output)
	case "output":
		if kept := t.output[k] + e.Output; len(kept) > maxOutput {
			t.output[k] = kept[len(kept)-maxOutput:]
		} else {
			t.output[k] = kept
		}
	case "run":
		t.running[k] = true
	case "pass", "fail", "skip":
		if e.Test == "" {
			t.packageEnded(e)
		} else {
			t.testEnded(e)
		}
		delete(t.output, k)
	}
}

func (t *counter) testEnded(e event) {
	k := key(e.Package, e.Test)
	delete(t.running, k)
	if e.Elapsed >= slow && strings.Count(e.Test, "/") <= 1 { // one that waits for parallel subtests says 0
		t.took = append(t.took, took{e.Package + " " + e.Test, e.Elapsed})
	}
	switch {
	case e.Action == "pass":
		t.passed++
	case e.Action == "fail":
		t.fail(e.Package)
		fmt.Fprintf(t.out, "--- FAIL %s %s (%.1fs)\n%s", e.Package, e.Test, e.Elapsed, t.output[k])
	case t.accepted(t.output[k]):
		t.skipped++
		t.skips[e.Package]++
		fmt.Fprintf(t.out, "--- skipped %s %s\n", e.Package, e.Test)
	default:
		t.fail(e.Package)
		fmt.Fprintf(t.out, "--- SKIP not accepted: %s %s\n%s", e.Package, e.Test, t.output[k])
	}
}

func (t *counter) fail(pkg string) {
	t.failed++
	t.fails[pkg]++
}

func (t *counter) accepted(output string) bool {
	return slices.ContainsFunc(t.reasons, func(r string) bool { return strings.Contains(output, r) })
}

// packageEnded shows a package's result. A package that fails without a failed
// test of its own did not build, crashed, or ran out of time: that counts too.
func (t *counter) packageEnded(e event) {
	switch e.Action {
	case "pass":
		fmt.Fprintf(t.out, "ok   %s (%.1fs)", e.Package, e.Elapsed)
		if n := t.skips[e.Package]; n > 0 {
			fmt.Fprintf(t.out, ", %d skipped", n)
		}
		fmt.Fprintln(t.out)
	case "fail":
		fmt.Fprintf(t.out, "FAIL %s (%.1fs)\n%s", e.Package, e.Elapsed, t.output[key(e.Package, "")])
		t.cutShort(e.Package)
		if t.fails[e.Package] == 0 {
			t.fail(e.Package)
		}
	}
}

// cutShort reports the tests of a package that never ended, and counts them.
func (t *counter) cutShort(pkg string) {
	var names []string
	for k := range t.running {
		if p, test, _ := strings.Cut(k, "\x00"); p == pkg {
			names = append(names, test)
		}
	}
	slices.Sort(names)
	for _, test := range names {
		fmt.Fprintf(t.out, "--- FAIL %s %s: it never ended\n%s", pkg, test, t.output[key(pkg, test)])
		delete(t.running, key(pkg, test))
		t.fail(pkg)
	}
}

// finish counts tests of packages of which no result came at all.
func (t *counter) finish() {
	for len(t.running) > 0 {
		for k := range t.running {
			pkg, _, _ := strings.Cut(k, "\x00")
			t.cutShort(pkg)
			break
		}
	}
}

// slowest shows the tests that took longest.
func (t *counter) slowest() {
	slices.SortStableFunc(t.took, func(a, b took) int { return cmp.Compare(b.seconds, a.seconds) })
	for _, s := range t.took[:min(len(t.took), maxSlow)] {
		fmt.Fprintf(t.out, "slow %s (%.1fs)\n", s.test, s.seconds)
	}
}
