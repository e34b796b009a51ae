package namedcmd

import (
	"context"
	"fmt"
	"sync"

	"carrel/internal/api"
	"carrel/internal/apiview"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/show"
	"carrel/internal/supervisor"

	"github.com/spf13/cobra"
)

func psCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ps [flags]",
		Short: "List your running workspaces",
		Long: `Lists the workspaces that run now, oldest first. Each has the id that other
commands take, the state, how many operations wait for your approval, and since
when it runs. Then come ports that are published (inside, or inside:host), the
command and the project. The state tells an isolation other than process too.
Projects that are paused are named below.
` + cmdline.PlainStatus,
		Example: `  carrel ps
  carrel ps --json`,
		Args: cmdline.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return listRunning(cmd.Context(), env, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON, one list")
	return cmd
}

func listRunning(ctx context.Context, env *cmdenv.Env, asJSON bool) error {
	entries, err := env.Caller().Running()
	if err != nil {
		return err
	}
	list := statuses(ctx, entries)
	if asJSON {
		return show.JSON(env.Out, show.NotNil(list))
	}
	if len(list) == 0 {
		fmt.Fprintln(env.Out, "no workspace is running")
	} else {
		apiview.PrintRunning(env.Out, list)
	}
	paused, err := env.Caller().Pauses()
	for i := range paused {
		fmt.Fprintf(env.Out, "%s\n", apiview.PausedText(&paused[i]))
	}
	return err
}

// statuses asks all at once; who does not answer is shown by its manifest. One
// that has ended meanwhile is left out.
func statuses(ctx context.Context, entries []supervisor.Entry) []api.WorkspaceStatus {
	ctx, cancel := context.WithTimeout(ctx, supervisor.AnswerTime)
	defer cancel()
	answers := make([]*api.WorkspaceStatus, len(entries))
	var wg sync.WaitGroup
	for i, e := range entries {
		wg.Go(func() {
			if r, err := e.Call(ctx, api.Request{Op: api.OpStatus}); err == nil {
				answers[i] = r.Status
			}
		})
	}
	wg.Wait()
	var list []api.WorkspaceStatus
	for i, e := range entries {
		switch {
		case answers[i] != nil:
			list = append(list, *answers[i])
		case e.Alive():
			list = append(list, api.WorkspaceStatus{ID: e.ID, Name: e.Name, State: api.StateNoAnswer, PID: e.PID, Project: e.Project, Argv: e.Argv,
				Persona: e.Persona, Backend: e.Backend, Isolation: e.Isolation, Started: e.Started})
		}
	}
	return list
}
