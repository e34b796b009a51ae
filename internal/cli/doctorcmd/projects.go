package doctorcmd

import (
	"fmt"
	"time"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/show"
	"carrel/internal/statedir"

	"github.com/spf13/cobra"
)

func projectsCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "projects [flags]",
		Short: "List what is kept of each project, with its size",
		Long: `Lists the projects of which something is kept in the state directory: the history,
the private copies of agents' state with their conversations, caches, and records of
runs. The project that was used last comes first. "gone" is one whose directory is
not there any more: what is kept of it is removed when it has been gone for a month.
carrel purge removes it now.
` + cmdline.PlainStatus,
		Example: "  carrel projects\n  carrel projects --json",
		Args:    cmdline.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := mayLook(env, "projects"); err != nil {
				return err
			}
			list, err := state(env).Kept()
			if err != nil {
				return err
			}
			return printProjects(env, list, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON, one list")
	return cmd
}

// state is the state directory, also where there is none yet.
func state(env *cmdenv.Env) *statedir.Dir { return statedir.At(statedir.Path(env.Getenv)) }

// mayLook refuses a session that is held to a ceiling: it is not told of other projects.
func mayLook(env *cmdenv.Env, op string) error {
	if statedir.Path(env.Getenv) == "" {
		return statedir.ErrNone
	}
	u, err := env.Caller().Session()
	if err != nil || !u.Session.Restricted() {
		return err
	}
	return &api.Denial{Code: api.CodeCeiling, Operation: op, Subject: op, Rule: "ceiling", Source: u.Hash(),
		Message: "ceiling: " + op + " is about all projects of the user, and the ceiling that holds here is not",
		Hint:    "run it without a ceiling"}
}

// projectJSON is what is kept of one project.
type projectJSON struct {
	ID       string           `json:"id"`
	Project  api.Text         `json:"project,omitempty"`
	Gone     bool             `json:"gone"`
	LastUsed time.Time        `json:"last_used"`
	Disk     int64            `json:"disk_bytes"`
	Parts    map[string]int64 `json:"parts"`
}

func printProjects(env *cmdenv.Env, list []statedir.Kept, asJSON bool) error {
	if asJSON {
		out := []projectJSON{}
		for _, p := range list {
			out = append(out, projectJSON{p.ID, api.Text(p.Path), p.Gone, p.Used, p.Bytes(), p.Parts})
		}
		return show.JSON(env.Out, out)
	}
	if len(list) == 0 {
		fmt.Fprintln(env.Out, "nothing is kept of any project")
		return nil
	}
	t, sum := &show.Table{}, int64(0)
	t.Row("KEPT", "HISTORY", "AGENTS", "CACHES", "LAST USED", "STATE", "PROJECT")
	for _, p := range list {
		word, size := "", func(part string) string { return show.Size(p.Parts[part]) }
		if p.Gone {
			word = "gone"
		}
		t.Row(show.Size(p.Bytes()), size(statedir.PartHistory), size(statedir.PartAgents), size(statedir.PartCaches),
			p.Used.Local().Format(show.Stamp), show.Dash(word), nameOf(p))
		sum += p.Bytes()
	}
	t.Print(env.Out, "")
	fmt.Fprintf(env.Out, "%s in all, in %s\n", show.Size(sum), show.OneLine(show.QuoteIf(state(env).Root())))
	return nil
}

// nameOf is the path of a project, or its id where the path is not known.
func nameOf(p statedir.Kept) string {
	if p.Path == "" {
		return "unknown, " + p.ID
	}
	return show.QuoteIf(p.Path)
}
