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
