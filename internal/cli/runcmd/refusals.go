package runcmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"carrel/internal/agents"
	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/policy"
	"carrel/internal/show"
)

// untold leaves out what has a line of its own: warnings were printed at the start,
// and a refusal that ends the run is its error.
func untold(denials []api.Denial, warned []policy.Warning, end error) []api.Denial {
	var ended *api.Denial
	errors.As(end, &ended)
	return slices.DeleteFunc(denials, func(d api.Denial) bool {
		warned := slices.ContainsFunc(warned, func(w policy.Warning) bool { return d.Message == w.Message })
		return warned || ended != nil && d.Message == ended.Message
	})
}

// tellDenials prints what was refused, and counts. Hosts that no rule lists are one line
// together, and so are those that only hear how programs are used.
func tellDenials(env *cmdenv.Env, r *api.Result) {
	var unlisted, usage []string
	var one api.Denial
	for _, d := range r.Denials {
		host, _, _ := strings.Cut(d.Subject, ":")
		switch {
		case d.Code != api.CodeNetwork || d.Rule != api.RuleUnlisted:
			tellDenial(env, d.Message, d.Hint)
		case agents.HearsUsage(host):
			usage = append(usage, d.Subject)
		default:
			unlisted, one = append(unlisted, d.Subject), d
		}
	}
	switch len(unlisted) {
	case 0:
	case 1:
		tellDenial(env, one.Message, one.Hint)
	default:
		tellDenial(env, "not reached, as no rule lists them: "+few(unlisted),
			"list one: --allow-host NAME:PORT, carrel allow NAME:PORT for this project, or carrel net allow NAME:PORT while it runs")
	}
	if len(usage) > 0 {
		tellDenial(env, "not reached, and nothing needs them: "+few(usage)+" (how programs are used, their errors, newer versions)", "")
	}
	if r.History == string(policy.HistoryOff) {
		fmt.Fprintf(env.Err, "carrel: history off: changes were not recorded, and names that a rule protects or denies but that did not exist could be made\n")
	}
	denials := show.Count(len(r.Denials), "denial", "denials")
	switch {
	case r.Changed != nil && len(r.Steps) == 0 && (*r.Changed > 0 || len(r.Denials) > 0):
		fmt.Fprintf(env.Err, "carrel: %s, %s\n", show.Count(*r.Changed, "file changed", "files changed"), denials)
	case len(r.Denials) > 0:
		fmt.Fprintf(env.Err, "carrel: %s\n", denials)
	}
}

func tellDenial(env *cmdenv.Env, message, hint string) {
	fmt.Fprintln(env.Err, env.Paint(env.Err).Red("carrel: denied: "+show.OneLine(message)))
	if hint != "" {
		fmt.Fprintf(env.Err, "carrel:   hint: %s\n", show.OneLine(hint))
	}
}

// tellHidden names the secrets that the command could not read: what it wanted of them
// nobody has seen. A run that ended well tells it on a terminal only.
func tellHidden(env *cmdenv.Env, r *api.Result, tty bool) {
	if len(r.Hidden) > 0 && (tty || r.Exit != 0) {
		fmt.Fprintf(env.Err, "carrel: hidden: %s: secrets; --read FILE shows one\n", show.OneLine(few(r.Hidden)))
	}
}

// maxFew is how many of many are named in one line.
const maxFew = 6

// few joins the first of some names, sorted, and says how many more there are.
func few(names []string) string {
	names = slices.Sorted(slices.Values(names))
	if more := len(names) - maxFew; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxFew], ", "), more)
	}
	return strings.Join(names, ", ")
}
