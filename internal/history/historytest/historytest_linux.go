package historytest

import (
	"maps"
	"os"
	"slices"
	"testing"

	"carrel/internal/history"
	"carrel/internal/history/journal"
)

// Removed stands for the text of a file that a step removes.
const Removed = "\x00"

// Record has a history keep steps: each gives files below a root their text, in the order of
// their names.
func Record(t testing.TB, dir, root string, steps ...map[string]string) {
	t.Helper()
	store, err := history.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	w, err := store.NewWriter("test", []string{root})
	if err != nil {
		t.Fatal(err)
	}
	for _, files := range steps {
		if _, err := w.Begin(journal.Begin{Kind: journal.StepRun}); err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if err := change(w, root+"/"+name, files[name]); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.End(0, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func change(w *history.Writer, at, text string) error {
	c := history.Change{Op: history.Content, Path: at, Dir: -1, ToDir: -1}
	if _, err := os.Lstat(at); err != nil {
		c.Op = history.Make
	}
	if text == Removed {
		c.Op = history.Remove
	}
	if err := w.Before(&c); err != nil {
		return err
	}
	var err error
	if text == Removed {
		err = os.Remove(at)
	} else {
		err = os.WriteFile(at, []byte(text), 0o600)
	}
	w.After(&c, err)
	return err
}
