package historycmd

import (
	"strings"
	"testing"

	"carrel/internal/histories"
)

// TestStepList: many steps are named up to a bound, and the rest is counted.
func TestStepList(t *testing.T) {
	many := make([]uint64, 1000)
	for i := range many {
		many[i] = uint64(i + 1)
	}
	if got := stepList(many); !strings.HasPrefix(got, "steps 1, 2, 3, ") || len(got) > 300 || !strings.Contains(got, " more") {
		t.Errorf("%s", got)
	}
	if got := stepList([]uint64{7}) + "; " + stepList([]uint64{7, 9}); got != "step 7; steps 7, 9" {
		t.Errorf("%s", got)
	}
}

// TestHistoriesElsewhere: a history is named by its project where that is known, and by its
// place where that is not the usual one; gone is said of what is counted alone.
func TestHistoriesElsewhere(t *testing.T) {
	for want, p := range map[string]histories.Project{
		"/p -": {Path: "/p", Dir: "/h", Counted: true}, "/p gone": {Path: "/p", Dir: "/h", Counted: true, Gone: true},
		"/p, kept in /h elsewhere": {Path: "/p", Dir: "/h", Gone: true}, "unknown, kept in /h -": {Dir: "/h", Counted: true},
	} {
		if got := projectName(p) + " " + projectState(p); got != want {
			t.Errorf("%+v: %s, want %s", p, got, want)
		}
	}
	got := limitsText(&histories.Usage{Each: 0, Altogether: 1 << 30})
	if !strings.Contains(got, "take 1") || !strings.HasSuffix(got, "what they need") {
		t.Errorf("%s", got)
	}
}

// TestProgress: few paths are not told of, and many are told of in one line, which goes at
// the end.
func TestProgress(t *testing.T) {
	var out strings.Builder
	for done := range 1000 {
		progress(&out, done+1, 1000)
	}
	if out.Len() > 0 {
		t.Errorf("%q", out.String())
	}
	for done := range 1200 {
		progress(&out, done+1, 1200)
	}
	got := out.String()
	if strings.Count(got, "\r") != 4 || !strings.HasSuffix(got, "\rcarrel: 1200 of 1200\r\x1b[K") || strings.Contains(got, "\n") {
		t.Errorf("%q", got)
	}
}
