package cli

import (
	"fmt"

	"carrel/internal/api"
	"carrel/internal/history"
	"carrel/internal/show"
	"carrel/internal/workspace"
)

// tellBetween lists what other programs wrote to files of a step while that went on, and
// the step then destroyed.
func (a *app) tellBetween(h *workspace.History, s *history.Step) error {
	for _, p := range s.Between() {
		told, _, err := h.Tell(s, []history.PathChange{{Path: string(p.Path)}}, api.SightName)
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
		case p.Object != (history.Object{}):
			kept = "kept as " + p.Object.File()
		case p.State.Kind != history.File:
			kept = "a " + p.State.Kind.String()
		}
		line := shown(h, string(p.Path)) + " (another program wrote it during the step, before the step changed it again: " + kept + ")"
		fmt.Fprintf(a.out, "%-4s %s\n", "edit", show.OneLine(line))
	}
	return nil
}
