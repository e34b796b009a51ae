package decisioncmd

import (
	"fmt"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/named"
	"carrel/internal/show"
	"carrel/internal/statedir"

	"github.com/spf13/cobra"
)

func auditListCommand(env *cmdenv.Env) *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List the audit logs of runs, and of workspaces that were removed",
		Long: `Lists the audit logs of runs, which there are where audit.required is set, and of
workspaces that were removed, the last first. carrel audit show takes the id. Nothing is
checked: carrel audit verify does that. What carrel list shows is not listed here.
` + cmdline.PlainStatus,
		Example: "  carrel audit list\n  carrel audit list --all --json",
		Args:    cmdline.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := env.UnderNoCeiling("audit list", "run it without a ceiling"); err != nil {
				return err
			}
			most := 50
			if all {
				most = named.MaxRunLogs
			}
			list, n, err := named.RunLogs(statedir.Path(env.Getenv), most)
			if err != nil {
				return err
			}
			if asJSON {
				return show.JSON(env.Out, show.NotNil(list))
			}
			printRunLogs(env, list, n)
			return nil
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "all of them, instead of the last 50")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON, one list")
	return cmd
}

func printRunLogs(env *cmdenv.Env, list []named.RunLog, n int) {
	if n == 0 {
		fmt.Fprintln(env.Out, "there is no audit log of a run or of a removed workspace;",
			"audit.required in the configuration makes each run have one")
		return
	}
	t := &show.Table{}
	t.Row("RUN", "BEGAN", "PROJECT", "COMMAND")
	for _, l := range list {
		project := "-"
		if l.Session != nil {
			project = show.QuoteIf(string(l.Session.Project))
		}
		t.Row(l.ID, l.Began.Local().Format(show.Stamp), project, show.Shorten(string(l.Command), show.ColumnMax))
	}
	t.Print(env.Out, "")
	if n > len(list) {
		fmt.Fprintf(env.Out, "and %d before them; --all lists them\n", n-len(list))
	}
}
