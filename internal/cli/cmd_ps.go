package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"carrel/internal/api"
	"carrel/internal/apiview"
	"carrel/internal/cmdline"
	"carrel/internal/named"
	"carrel/internal/show"
	"carrel/internal/statedir"
	"carrel/internal/supervisor"

	"github.com/spf13/cobra"
)

// answerTime is how long a supervisor may take for an answer. What it holds is
// in memory; only pausing takes longer.
const (
	answerTime = 3 * time.Second
	pauseTime  = 20 * time.Second
)

func (a *app) psCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ps [flags]",
		Short: "List your running workspaces",
		Long: `Lists the workspaces that run now, oldest first: the id that other commands
take, the state, how many operations wait for your approval, since when it runs,
which ports are published (inside, or inside:host), the command and the project.
` + cmdline.PlainStatus,
		Example: `  carrel ps
  carrel ps --json`,
		Args: cmdline.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.ps(cmd.Context(), asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON, one list")
	return cmdline.ExplainFlagErrors(cmd)
}

func (a *app) ps(ctx context.Context, asJSON bool) error {
	entries, err := a.running()
	if err != nil {
		return err
	}
	list := statuses(ctx, entries)
	if asJSON {
		return show.JSON(a.out, show.NotNil(list))
	}
	if len(list) == 0 {
		fmt.Fprintln(a.out, "no workspace is running")
		return nil
	}
	apiview.PrintRunning(a.out, list)
	return nil
}

// running finds the live workspaces. A place of the registry that cannot be
// looked into is told, and does not hide the others.
func (a *app) running() ([]supervisor.Entry, error) {
	entries, err := supervisor.Find(supervisor.Dirs(a.getenv("XDG_RUNTIME_DIR"), statedir.Path(a.getenv)))
	if err != nil && len(entries) > 0 {
		fmt.Fprintf(a.err, "carrel: %s\n", show.OneLine(err.Error()))
		err = nil
	}
	if err != nil {
		return entries, err
	}
	return a.held(entries)
}

// statuses asks all at once; who does not answer is shown by its manifest. One
// that has ended meanwhile is left out.
func statuses(ctx context.Context, entries []supervisor.Entry) []api.WorkspaceStatus {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
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
			list = append(list, api.WorkspaceStatus{ID: e.ID, Name: e.Name, State: api.StateNoAnswer, PID: e.PID, Project: e.Project, Argv: e.Argv, Persona: e.Persona, Backend: e.Backend, Started: e.Started})
		}
	}
	return list
}

// workspaceNamed finds the running workspace that an argument names.
func (a *app) workspaceNamed(prefix string) (supervisor.Entry, error) {
	entries, err := a.running()
	if err != nil {
		return supervisor.Entry{}, err
	}
	e, err := supervisor.Pick(entries, prefix)
	if err != nil && named.CheckName(prefix) == nil {
		if named, ok, _ := a.deskRunning(prefix); ok {
			return named, nil
		}
	}
	if err != nil && !errors.Is(err, supervisor.ErrAmbiguous) && named.CheckName(prefix) == nil {
		if d, e := named.Read(statedir.Path(a.getenv), prefix); e == nil && d.State == api.StateStopped {
			return supervisor.Entry{}, fmt.Errorf("workspace %q does not run\nhint: `carrel start %s` starts it anew, `carrel status %s` says what became of it", prefix, prefix, prefix)
		}
	}
	if err != nil {
		return e, noSuch("workspace", prefix, "carrel ps", err)
	}
	return e, nil
}

// noSuch says why an id or its beginning names nothing.
func noSuch(what, prefix, list string, err error) error {
	if errors.Is(err, supervisor.ErrAmbiguous) {
		return fmt.Errorf("%s %q: %w\nhint: give more of the id", what, prefix, err)
	}
	return fmt.Errorf("no %s %q\nhint: `%s` lists them", what, prefix, list)
}

// completeWorkspace names the running workspaces.
func (a *app) completeWorkspace(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	entries, _ := a.running()
	var names []string
	for _, e := range entries {
		names = append(names, called(e)+"\t"+show.OneLine(show.Shorten(strings.Join(e.Argv, " "), show.ColumnMax)))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
