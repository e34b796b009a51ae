package runcmd

import (
	"fmt"
	"strings"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/op/reviewop"
	"carrel/internal/show"
)

// endLayer ends what a command in review mode was started with; nil is no such command.
func endLayer(env *cmdenv.Env, run *reviewop.Run, r *api.Result) *reviewop.Ended {
	if run == nil {
		return nil
	}
	left, err := run.End(r.Exit)
	if err != nil {
		fmt.Fprintf(env.Err, "carrel: the layer: %s\n", show.OneLine(err.Error()))
	}
	if left != nil {
		r.Layer = left.ID
	}
	return left
}

// tellLayer says what a command in review mode has changed, and what can be done with it.
func tellLayer(env *cmdenv.Env, left *reviewop.Ended) {
	if left == nil {
		return
	}
	if left.Full {
		fmt.Fprintf(env.Err, "carrel: the command was ended: its layer took more than %d MiB, half of what was free\n", left.Bound>>20)
	}
	if left.ID == "" {
		fmt.Fprintln(env.Err, "carrel: nothing to review: the command changed nothing")
		return
	}
	var parts []string
	for _, one := range []struct {
		n    int
		what string
	}{{left.Added, "added"}, {left.Modified, "modified"}, {left.Removed, "removed"}, {left.Refused, "that cannot be applied"}, {left.Conflicts, "in conflict"}} {
		if one.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", one.n, one.what))
		}
	}
	fmt.Fprintf(env.Err, "carrel: layer %s: %s; `carrel review diff` shows it, `carrel review apply` takes it over, `carrel review drop` forgets it\n",
		left.ID, strings.Join(parts, ", "))
}
