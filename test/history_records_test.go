//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// records are the names of the files with what runs have changed.
func (w *world) records() (names []string) {
	w.t.Helper()
	files, err := filepath.Glob(w.home + "/.local/state/carrel/projects/*/changes/*")
	w.must(err)
	for _, f := range files {
		names = append(names, filepath.Base(f))
	}
	return names
}

// aged makes files of the records' directory older.
func (w *world) aged(names ...string) {
	w.t.Helper()
	then := time.Now().Add(-time.Hour)
	dirs, err := filepath.Glob(w.home + "/.local/state/carrel/projects/*/changes")
	w.must(err)
	for _, name := range names {
		w.must(os.Chtimes(dirs[0]+"/"+name, then, then))
	}
}

// TestStepsGoInBatches: a history at its limit of steps loses an eighth of it at once and
// says so once, with the records of those steps. Runs that change nothing leave no record,
// and empty ones of earlier versions go.
func TestStepsGoInBatches(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.configured("history: {max_steps: 16}")
		w.sh("true; cat missing 2>/dev/null || true")
		if got := w.records(); len(got) > 0 {
			t.Errorf("a run that changed nothing has left %q", got)
		}
		w.sh("echo 1 > f1")
		first := w.records()
		if len(first) != 1 || !strings.Contains(w.outsideSh("cat ~/.local/state/carrel/projects/*/changes/*.log"), "/f1\"") {
			t.Fatalf("after a run with a change: %q", first)
		}
		dirs, err := filepath.Glob(w.home + "/.local/state/carrel/projects/*/changes")
		w.must(err)
		w.write(dirs[0]+"/0a0a0a0a.log", "")
		w.write(dirs[0]+"/0b0b0b0b.log", "create \"/of/no/step\"\n")
		w.write(dirs[0]+"/0c0c0c0c.log", "create \"/written/now\"\n")
		w.aged(first[0], "0b0b0b0b.log")
		for n := 2; n <= 16; n++ {
			if r := w.run("--", "sh", "-c", fmt.Sprintf("echo %d > f%d", n, n)); r.code != 0 || r.err != "" {
				t.Fatalf("step %d, within the limit: %s", n, r)
			}
		}
		if got := w.steps(); len(got) != 16 {
			t.Fatalf("%d steps within the limit", len(got))
		}
		told := 0
		for n := 17; n <= 19; n++ {
			r := w.run("--", "sh", "-c", fmt.Sprintf("echo %d > f%d", n, n))
			if told += strings.Count(r.err, "discarded"); r.code != 0 || n == 17 && !strings.Contains(r.err, "3 old steps are discarded, 1 to 3") {
				t.Errorf("step %d: %s", n, r)
			}
		}
		steps := w.steps()
		if told != 1 || len(steps) != 16 || steps[0].Step != 4 {
			t.Errorf("told %d times, and %d steps are kept, the oldest %d", told, len(steps), steps[0].Step)
		}
		got := w.records()
		for _, name := range []string{first[0], "0a0a0a0a.log", "0b0b0b0b.log"} {
			if slices.Contains(got, name) {
				t.Errorf("%s is there still: %q", name, got)
			}
		}
		if len(got) != 19 || !slices.Contains(got, "0c0c0c0c.log") {
			t.Errorf("%d records, want those of 18 runs and one that is new: %q", len(got), got)
		}
		w.aged(got...)
		w.fine("discard", "--all", "--yes", "--dry-run")
		if now := w.records(); !slices.Equal(now, got) {
			t.Errorf("a dry run has removed records: %q", now)
		}
		w.fine("discard", "--all", "--yes")
		if now := w.records(); len(now) > 0 {
			t.Errorf("all steps are discarded, and there are records: %q", now)
		}
		w.fine("history", "verify")
	})
}
