package runcmd

import (
	"fmt"
	"strings"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/op/runop"
)

// tellLayer says what a command in review mode has changed, and what can be done with it.
func tellLayer(env *cmdenv.Env, left *runop.Ended) {
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
	}{{left.Added, "added"}, {left.Modified, "modified"}, {left.Removed, "removed"}, {left.Refused, "that cannot be applied"},
		{left.Conflicts, "in conflict"}} {
		if one.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", one.n, one.what))
		}
	}
	fmt.Fprintf(env.Err, "carrel: layer %s: %s; `carrel review diff` shows it, `carrel review apply` takes it over, `carrel review "+
		"drop` forgets it\n",
		left.ID, strings.Join(parts, ", "))
}
