package stepview

import (
	"carrel/internal/api"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/projecthistory"
	"carrel/internal/show"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// CommandOf is what a step is known by: its label, or the command.
func CommandOf(j Step) string {
	if j.Kind == journal.StepUndo || j.Kind == journal.StepRedo {
		words := []string{j.Kind, "of"}
		for _, n := range j.Of {
			words = append(words, strconv.FormatUint(n, 10))
		}
		return strings.Join(words, " ")
	}
	var words []string
	for _, w := range j.Command {
		words = append(words, string(w))
	}
	if j.Label != "" {
		return j.Label
	}
	return strings.Join(words, " ")
}

// Tally says how much a step changed.
func Tally(j Step) string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{j.Added, "added"}, {j.Modified, "changed"}, {j.Renamed, "renamed"}, {j.Removed, "removed"}, {j.Lost, "not kept"}, {j.Edited, "edited by others"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// Path is a path as a person looks at it: relative to the project.
func Path(project, path string) string {
	if rel, ok := strings.CutPrefix(path, project+"/"); ok {
		return show.QuoteIf(rel)
	}
	return show.QuoteIf(path)
}

// PrintSteps lists steps for a person.
func PrintSteps(w io.Writer, list []Step) {
	t := &show.Table{}
	t.Row("STEP", "BEGAN", "STATE", "CHANGES", "COMMAND")
	for _, j := range list {
		t.Row(strconv.FormatUint(j.Step, 10), j.Began.Local().Format(show.Stamp), j.State, Tally(j), show.Shorten(CommandOf(j), show.ColumnMax))
	}
	t.Print(w, "")
}

var changeLetters = map[string]string{steplog.Added: "A", steplog.Modified: "M", steplog.Renamed: "R", steplog.Removed: "D", steplog.Changed: "mode"}

// PrintStep shows one step and what it changed to a person.
func PrintStep(w io.Writer, h *projecthistory.History, j Step, changes []steplog.PathChange) {
	t := &show.Table{}
	t.Row("step", strconv.FormatUint(j.Step, 10)+", "+j.State)
	t.Row("began", j.Began.Local().Format(show.Stamp))
	if j.Ended != nil {
		t.Row("ended", j.Ended.Local().Format(show.Stamp)+", exit status "+strconv.Itoa(j.Exit))
	}
	t.Row("command", CommandOf(j))
	t.Row("changes", Tally(j))
	t.Print(w, "")
	for _, c := range changes {
		line := changeLetters[c.What] + "\t" + Path(h.Project, c.Path)
		if c.From != "" {
			line = "R\t" + Path(h.Project, c.From) + " -> " + Path(h.Project, c.Path)
		}
		if c.Kind == journal.Dir {
			line += "/"
		}
		if c.Lost != "" {
			line += " (its content was not kept: " + c.Lost + ")"
		}
		letter, rest, _ := strings.Cut(line, "\t")
		fmt.Fprintf(w, "%-4s %s\n", letter, show.OneLine(rest))
	}
}

// PrintLeftOut says what an answer does not tell.
func PrintLeftOut(w io.Writer, l *api.LeftOut) {
	if l != nil {
		fmt.Fprintf(w, "%s left out: %s\n", show.Count(l.Paths, "path is", "paths are"), l.Why)
	}
}

// PrintBetween lists what other programs wrote to files of a step while that went on, and
// the step then destroyed.
func PrintBetween(w io.Writer, h *projecthistory.History, s *steplog.Step) error {
	for _, p := range s.Between() {
		told, _, err := h.Tell(s, []steplog.PathChange{{Path: string(p.Path)}}, api.SightName)
		if err != nil {
			return err
		}
		if len(told) == 0 {
			continue
		}
		kept := "it was empty"
		switch {
		case p.Lost != "":
			kept = "not kept: " + p.Lost
		case p.Object != (journal.Object{}):
			kept = "kept as " + p.Object.File()
		case p.State.Kind != journal.File:
			kept = "a " + p.State.Kind.String()
		}
		line := Path(h.Project, string(p.Path)) + " (another program wrote it during the step, before the step changed it again: " + kept + ")"
		fmt.Fprintf(w, "%-4s %s\n", "edit", show.OneLine(line))
	}
	return nil
}
