package doctorcmd

import (
	"strings"
	"testing"

	"carrel/internal/doctor"
	"carrel/internal/show"
)

// TestPrintReport: below each check that is not ok stands its own advice, and the last line
// says what can be run.
func TestPrintReport(t *testing.T) {
	kernel := doctor.Check{ID: "kernel", Name: "kernel", Status: doctor.OK, Found: "6.8", Means: "never shown"}
	memory := doctor.Check{ID: "memory", Name: "memory", Status: doctor.Weak, Found: "refused",
		Means: "no history", Fix: "ask for it", Commands: []string{"a\x1bb"}}
	space := doctor.Check{ID: "space", Name: "space", Status: doctor.Missing, Found: "none"}
	for _, c := range []struct {
		name   string
		report doctor.Report
		want   []string // in this order
		not    []string
	}{
		{"all is well", doctor.Report{Ready: true, Checks: []doctor.Check{kernel}},
			[]string{"6.8", "\ncarrel run can work here\n"}, []string{"never shown", "do:", "--fresh"}},
		{"advice below its check", doctor.Report{Ready: true, Checks: []doctor.Check{memory, kernel}},
			[]string{"refused", "so: no history", "do: ask for it", "$ ", "6.8", "can work here, with --history off\n"}, []string{"\x1b"}},
		{"not ready", doctor.Report{Checks: []doctor.Check{kernel, space}}, []string{"6.8", "none"}, []string{"can work here"}},
		{"kept answers", doctor.Report{Kept: 2, Checks: []doctor.Check{kernel}}, []string{"2 answers", "--fresh"}, nil},
	} {
		var out strings.Builder
		printReport(&out, c.report, show.Paint{})
		rest := out.String()
		for _, want := range c.want {
			_, after, ok := strings.Cut(rest, want)
			if !ok {
				t.Errorf("%s: no %q where it should be:\n%s", c.name, want, out.String())
				break
			}
			rest = after
		}
		for _, not := range c.not {
			if strings.Contains(out.String(), not) {
				t.Errorf("%s: %q is told:\n%s", c.name, not, out.String())
			}
		}
	}
}
