package stepview

import (
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/history/journal"
)

// TestSteps: a step is known by its label or its command, an undo by what it took back,
// and what is text of others stays on its line.
func TestSteps(t *testing.T) {
	began := time.Date(2024, 5, 6, 7, 8, 9, 0, time.Local)
	var out strings.Builder
	PrintSteps(&out, []Step{
		{Step: 3, Kind: journal.StepUndo, Of: []uint64{2, 1}, Began: began, State: "done"},
		{Step: 2, Kind: journal.StepRun, Command: []api.Text{"sh", "a\nb\x1b"}, Began: began, State: "undone", Added: 1, Removed: 2},
		{Step: 1, Kind: journal.StepRun, Command: []api.Text{"x"}, Label: "by name", Began: began, State: "done", Modified: 1, Lost: 1},
	})
	want := `STEP  BEGAN                STATE   CHANGES                COMMAND
3     2024-05-06 07:08:09  done    nothing                undo of 2 1
2     2024-05-06 07:08:09  undone  1 added, 2 removed     sh a\nb\x1b
1     2024-05-06 07:08:09  done    1 changed, 1 not kept  by name
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// TestDiffLines: what a file holds cannot colour or move a terminal.
func TestDiffLines(t *testing.T) {
	var out strings.Builder
	PrintDiff(&out, FileDiff("a\nb", []byte("old\n"), []byte("new\x1b[2J\n")))
	want := "--- a\\nb\n+++ a\\nb\n@@ -1 +1 @@\n-old\n+new\\x1b[2J\n"
	if out.String() != want {
		t.Errorf("got\n%q\nwant\n%q", out.String(), want)
	}
}

// TestNewAndRemovedFiles: an edit of a file that was not there, or is gone, says so.
func TestNewAndRemovedFiles(t *testing.T) {
	for name, c := range map[string]struct {
		was, now []byte
		want     string
	}{
		"new":     {nil, []byte("a\n"), "--- /dev/null\n+++ f\n@@ -0,0 +1 @@\n+a\n"},
		"removed": {[]byte("a\n"), nil, "--- f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"},
		"as was":  {[]byte("a\n"), []byte("a\n"), ""},
	} {
		if got := FileDiff("f", c.was, c.now); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	for at, want := range map[string]string{"/p/a/b": "a/b", "/pa": "/pa", "/p": "/p", "/q": "/q", "/p/a\nb": `"a\nb"`} {
		if got := Path("/p", at); got != want {
			t.Errorf("%s is %s, want %s", at, got, want)
		}
	}
}

// TestTally: each kind of change that there was, and "nothing" for none.
func TestTally(t *testing.T) {
	all := Step{Added: 1, Modified: 2, Renamed: 3, Removed: 4, Lost: 5, Edited: 6}
	if got, want := Tally(all), "1 added, 2 changed, 3 renamed, 4 removed, 5 not kept, 6 edited by others"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Tally(Step{}); got != "nothing" {
		t.Error(got)
	}
}
