package stepview

import (
	"carrel/internal/api"
	"carrel/internal/history"
	"carrel/internal/history/journal"
	"carrel/internal/projecthistory"
	"carrel/internal/show"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Undo is what an undo did or would do.
type Undo struct {
	DryRun       bool           `json:"dry_run"`
	Done         bool           `json:"done"` // false: nothing was changed, or not all could be restored
	Steps        []uint64       `json:"steps"`
	Restored     []api.Text     `json:"restored"`
	Removed      []api.Text     `json:"removed"`
	Unrestorable []lostJSON     `json:"unrestorable"`
	LeftAlone    []lostJSON     `json:"left_alone,omitempty"` // stays, although a step made it
	Beside       []besideJSON   `json:"beside,omitempty"`     // is kept under another name
	Conflicts    []conflictJSON `json:"conflicts"`
	LeftOut      *api.LeftOut   `json:"left_out,omitempty"`
	Unlisted     int            `json:"conflicts_left_out,omitempty"` // of LeftOut
}

type lostJSON struct {
	Path api.Text `json:"path"`
	Why  string   `json:"why"`
}

type besideJSON struct {
	Path api.Text `json:"path"`
	Name api.Text `json:"name"` // whole
}

type conflictJSON struct {
	Path api.Text `json:"path"`
	Why  string   `json:"why"`
	Step uint64   `json:"step,omitempty"`
}

// MaxShown bounds the paths that a person gets to read; --json has all.
const MaxShown = 20

// UndoOf tells of a request, with what was in its way.
func UndoOf(h *projecthistory.History, dryRun bool, v *history.Preview, conflicts []history.Conflict) Undo {
	j := Undo{DryRun: dryRun, Steps: []uint64{}, Restored: []api.Text{}, Removed: []api.Text{}, Unrestorable: []lostJSON{}, Conflicts: []conflictJSON{}}
	var paths []string
	j.Steps = append(j.Steps, v.Steps...)
	j.Restored = append(j.Restored, show.Texts(v.Restored)...)
	j.Removed = append(j.Removed, show.Texts(v.Removed)...)
	paths = slices.Concat(paths, v.Restored, v.Removed)
	for _, u := range v.Unrestorable {
		j.Unrestorable = append(j.Unrestorable, lostJSON{api.Text(u.Path), u.Why})
		paths = append(paths, u.Path)
	}
	for _, u := range v.LeftAlone {
		j.LeftAlone = append(j.LeftAlone, lostJSON{api.Text(u.Path), u.Why})
		paths = append(paths, u.Path)
	}
	for _, b := range v.Beside {
		j.Beside = append(j.Beside, besideJSON{api.Text(b.Path), api.Text(b.Name)})
		paths = append(paths, b.Path, b.Name)
	}
	for _, c := range conflicts {
		j.Conflicts = append(j.Conflicts, conflictJSON{api.Text(c.Path), c.Why, c.Step})
		paths = append(paths, c.Path)
	}
	unnamed, err := h.Unnamed(paths)
	hidden := func(at api.Text) bool { return unnamed[string(at)] }
	j.Restored, j.Removed = slices.DeleteFunc(j.Restored, hidden), slices.DeleteFunc(j.Removed, hidden)
	j.Unrestorable = slices.DeleteFunc(j.Unrestorable, func(l lostJSON) bool { return hidden(l.Path) })
	j.LeftAlone = slices.DeleteFunc(j.LeftAlone, func(l lostJSON) bool { return hidden(l.Path) })
	j.Beside = slices.DeleteFunc(j.Beside, func(b besideJSON) bool { return hidden(b.Path) || hidden(b.Name) })
	j.Conflicts = slices.DeleteFunc(j.Conflicts, func(c conflictJSON) bool { return hidden(c.Path) })
	j.Unlisted = len(conflicts) - len(j.Conflicts)
	if j.LeftOut = api.NewLeftOut(len(unnamed)); err != nil && j.LeftOut != nil {
		j.LeftOut.Why = err.Error() // what was done is done, and told
	}
	return j
}

// Print tells a person what an undo did or would do: what was in its way on errs, the rest
// on w.
func (j *Undo) Print(w, errs io.Writer, project, would string, missing int) {
	PrintConflicts(errs, project, j.Conflicts)
	printPaths(w, project, would+"restored  ", j.Restored)
	printPaths(w, project, would+"removed   ", j.Removed)
	for _, u := range j.Unrestorable {
		what := "NOT restored"
		if u.Why == journal.Ignored {
			what = "left alone"
		}
		fmt.Fprintf(w, "%s  %s: %s\n", what, show.OneLine(Path(project, string(u.Path))), show.OneLine(u.Why))
	}
	for _, b := range j.Beside {
		fmt.Fprintf(w, "%skept      %s as %s\n", would, show.OneLine(Path(project, string(b.Path))), show.OneLine(Path(project, string(b.Name))))
	}
	printLeftAlone(w, project, j.LeftAlone)
	fmt.Fprintf(w, "%s: %s %srestored, %d removed", show.Count(len(j.Steps), "step", "steps"), show.Count(len(j.Restored), "path", "paths"), would, len(j.Removed))
	if missing > 0 {
		fmt.Fprintf(w, ", %d could not be restored", missing)
	}
	if alone := len(j.Unrestorable) - missing; alone > 0 {
		fmt.Fprintf(w, ", %d left alone", alone)
	}
	fmt.Fprintln(w)
	PrintLeftOut(w, j.LeftOut)
}

// maxAlone bounds the paths that are listed for one reason to leave something alone.
const maxAlone = 3

// printLeftAlone lists what the steps made and stays, the first few for each reason.
func printLeftAlone(w io.Writer, project string, list []lostJSON) {
	told := make(map[string]int)
	for _, u := range list {
		if told[u.Why]++; told[u.Why] <= maxAlone {
			fmt.Fprintf(w, "left alone  %s: %s\n", show.OneLine(Path(project, string(u.Path))), show.OneLine(u.Why))
		}
	}
	for _, why := range slices.Sorted(maps.Keys(told)) {
		if more := told[why] - maxAlone; more > 0 {
			fmt.Fprintf(w, "left alone  (%d more, --json lists all): %s\n", more, show.OneLine(why))
		}
	}
}

// printPaths lists the first of some paths, and how many there are beside them.
func printPaths(w io.Writer, project, what string, list []api.Text) {
	for i, p := range list {
		if i == MaxShown {
			fmt.Fprintf(w, "%s(%d more, --json lists all)\n", what, len(list)-i)
			return
		}
		fmt.Fprintf(w, "%s%s\n", what, show.OneLine(Path(project, string(p))))
	}
}

// PrintConflicts lists what is not as the steps left it.
func PrintConflicts(w io.Writer, project string, list []conflictJSON) {
	for _, c := range list {
		fmt.Fprintf(w, "carrel: conflict: %s: %s\n", show.OneLine(Path(project, string(c.Path))), show.OneLine(c.Why))
	}
}
