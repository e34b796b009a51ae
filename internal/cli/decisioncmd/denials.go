package decisioncmd

import (
	"fmt"
	"slices"
	"time"

	"carrel/internal/api"
	"carrel/internal/apiview"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/config"
	"carrel/internal/decide"
	"carrel/internal/show"
	"carrel/internal/statedir"

	"github.com/spf13/cobra"
)

type logFlags struct {
	since, project string
	all, json      bool
	last           int
}

func denialsCommand(env *cmdenv.Env) *cobra.Command {
	f := &logFlags{}
	cmd := &cobra.Command{
		Use:   "denials [flags]",
		Short: "List what was refused, by which rule, and what would allow it",
		Long: `Lists the refusals of earlier runs in the current project, oldest first: the
operation, the rule with its place, and the flag or line that would allow it.
` + cmdline.PlainStatus,
		Example: `  carrel denials
  carrel denials --since 24h -n 20
  carrel denials --all --json
  carrel denials --project ~/src/demo`,
		Args: cmdline.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return listDenials(env, cmd, f) },
	}
	cmd.Flags().StringVar(&f.project, "project", "", "those of the project that holds this directory")
	cmd.Flags().BoolVar(&f.all, "all", false, "those of all projects")
	cmdline.OneOf(cmd, "project", "all")
	f.register(cmd)
	return cmd
}

func linksCommand(env *cmdenv.Env) *cobra.Command {
	f := &logFlags{}
	cmd := &cobra.Command{
		Use:   "links [flags]",
		Short: "List the links that programs inside wanted opened",
		Long: `Lists the links that programs behind the walls asked to open, oldest first, and
whether a browser outside was started with them. A link comes from inside: look
at it before you open it.
` + cmdline.PlainStatus,
		Example: `  carrel links
  carrel links -n 1
  carrel links --since 10m --json`,
		Args: cmdline.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return listLinks(env, cmd, f) },
	}
	f.register(cmd)
	return cmd
}

func (f *logFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.since, "since", "", "not older than this: 30m, 24h")
	cmd.Flags().IntVarP(&f.last, "last", "n", 0, "only the newest N")
	cmd.Flags().BoolVar(&f.json, "json", false, "print as JSON, one list")
	cmdline.CompleteFlag(cmd, "since", cobra.NoFileCompletions)
	cmdline.CompleteFlag(cmd, "last", cobra.NoFileCompletions)
}

// start is the oldest moment that counts.
func (f *logFlags) start(cmd *cobra.Command) (time.Time, error) {
	if cmd.Flags().Changed("last") && f.last <= 0 {
		return time.Time{}, fmt.Errorf("-n %d: want a number of 1 or more", f.last)
	}
	if f.since == "" {
		return time.Time{}, nil
	}
	d, err := config.ParseDuration(f.since)
	if err != nil {
		return time.Time{}, fmt.Errorf("--since: %w", err)
	}
	return time.Now().Add(-d), nil
}

// newest cuts a list, oldest first, to its last n; 0 keeps all.
func newest[T any](list []T, n int) []T {
	if n > 0 && len(list) > n {
		return list[len(list)-n:]
	}
	return list
}

func listDenials(env *cmdenv.Env, cmd *cobra.Command, f *logFlags) error {
	start, err := f.start(cmd)
	if err != nil {
		return err
	}
	at, err := decide.Locate(f.project, env.Getenv("HOME"))
	if err != nil && !f.all {
		return err
	}
	list, broken, err := statedir.Denials(statedir.Path(env.Getenv), func(d *api.Denial) bool {
		return (f.all || d.Project == at.Project) && !d.Time.Before(start)
	})
	if err != nil {
		return err
	}
	tellBroken(env, broken)
	list = newest(withoutRepeats(list), f.last)
	if f.json {
		return show.JSON(env.Out, show.NotNil(list))
	}
	if len(list) == 0 {
		fmt.Fprintln(env.Out, noDenials(f.all, at.Project))
		return nil
	}
	apiview.PrintDenials(env.Out, list, f.all)
	return nil
}

// withoutRepeats leaves the newest record of what is the same in each run of a project:
// the files that were hidden.
func withoutRepeats(list []api.Denial) []api.Denial {
	later := map[[2]string]bool{}
	for i, d := range slices.Backward(list) {
		if same := [2]string{d.Project, d.Subject}; d.Code == api.CodeHidden && later[same] {
			list[i].Code = ""
		} else if d.Code == api.CodeHidden {
			later[same] = true
		}
	}
	return slices.DeleteFunc(list, func(d api.Denial) bool { return d.Code == "" })
}

func noDenials(all bool, project string) string {
	if all {
		return "no denials"
	}
	return show.OneLine("no denials in " + show.QuoteIf(project) + "; --all lists those of other projects")
}

func tellBroken(env *cmdenv.Env, n int) {
	if n > 0 {
		fmt.Fprintf(env.Err, "carrel: %s in the log cannot be read\n", show.Count(n, "line", "lines"))
	}
}

func listLinks(env *cmdenv.Env, cmd *cobra.Command, f *logFlags) error {
	start, err := f.start(cmd)
	if err != nil {
		return err
	}
	list, broken, err := statedir.Links(statedir.Path(env.Getenv), func(l *api.Link) bool { return !l.Time.Before(start) })
	if err != nil {
		return err
	}
	tellBroken(env, broken)
	list = newest(list, f.last)
	if f.json {
		return show.JSON(env.Out, show.NotNil(list))
	}
	if len(list) == 0 {
		fmt.Fprintln(env.Out, "no links")
		return nil
	}
	apiview.PrintLinks(env.Out, list)
	return nil
}
