package decisioncmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"carrel/internal/api"
	"carrel/internal/apiview"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/undoview"
	"carrel/internal/cmdline"
	"carrel/internal/op"
	"carrel/internal/op/historyop"
	"carrel/internal/show"
	"carrel/internal/supervisor"

	"github.com/spf13/cobra"
)

// lookAgain is how often --follow looks for workspaces that were started since.
const lookAgain = 500 * time.Millisecond

func approvalsCommand(env *cmdenv.Env) *cobra.Command {
	var follow, asJSON bool
	cmd := &cobra.Command{
		Use:   "approvals [ID] [flags]",
		Short: "List what waits for your word",
		Long: `Lists the operations of all running workspaces that wait for a person's word,
oldest first. What has no answer by its deadline is denied. With --follow it
goes on with what comes and how it is answered, until it is interrupted.

With an id, whole, only that operation is shown, also when it was answered lately;
with --follow once more when it is.

The subject comes from inside: read it before you approve.
` + cmdline.PlainStatus,
		Example: `  carrel approvals
  carrel approvals --follow
  carrel approvals --json
  carrel approvals 5d20e1 --follow`,
		Args: cmdline.AtMostOne("an approval"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return oneApproval(cmd.Context(), env, args[0], follow, asJSON)
			}
			if follow {
				return followApprovals(cmd.Context(), env, asJSON)
			}
			return listApprovals(cmd.Context(), env, asJSON)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what comes")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON: one list, or one object a line with --follow")
	return cmd
}

func approveCommand(env *cmdenv.Env) *cobra.Command {
	var workspace, project, always bool
	cmd := &cobra.Command{
		Use:   "approve ID [flags]",
		Short: "Allow one operation that waits",
		Long: `Shows an operation that waits and allows it, once, when you type its id again.
It takes a person at a terminal of their own: started by an agent, from behind
walls, or with its input from elsewhere, this command is refused. That check is
best effort. ID is an id of ` + "`carrel approvals`" + ` or its beginning.

A connection can be allowed for longer: with --workspace, its host and port as
long as the workspace runs; with --project, in its project from now on, as
carrel allow does it; with --always, in every project. The last two write it
into your configuration.
` + cmdline.PlainStatus,
		Example: `  carrel approve 5d20e1
  carrel approve 5d --workspace
  carrel approve 5d --project
  carrel approve 5d --always`,
		Args: cmdline.OneArg("the id of an approval"),
		RunE: func(cmd *cobra.Command, args []string) error {
			scope := ""
			switch {
			case always:
				scope = api.ScopeAlways
			case project:
				scope = api.ScopeProject
			case workspace:
				scope = api.ScopeWorkspace
			}
			return approveOne(cmd.Context(), env, args[0], scope)
		},
		ValidArgsFunction: completeApproval(env),
	}
	cmd.Flags().BoolVar(&workspace, "workspace", false, "a connection: its host and port as long as the workspace runs")
	cmd.Flags().BoolVar(&project, "project", false, "a connection: its host and port in this project from now on, in your configuration")
	cmd.Flags().BoolVar(&always, "always", false, "a connection: its host and port from now on, in your configuration")
	cmdline.OneOf(cmd, "workspace", "project", "always")
	return cmd
}

func denyCommand(env *cmdenv.Env) *cobra.Command {
	var rollback bool
	cmd := &cobra.Command{
		Use:   "deny ID [flags]",
		Short: "Refuse one operation that waits",
		Long: `Refuses an operation that waits, without waiting for its deadline. Unlike
approving, it needs no terminal: scripts may say no. ID is an id of
` + "`carrel approvals`" + ` or its beginning.

With --rollback the workspace is stopped as well, and the step of its history
that the operation belongs to is taken back. In a workspace that stays only the
app is ended that the operation is of.
` + cmdline.PlainStatus,
		Example: `  carrel deny 5d20e1
  carrel deny 5d --rollback`,
		Args: cmdline.OneArg("the id of an approval"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if rollback {
				done, err := historyop.DenyAndUndo(cmd.Context(), env.Caller(), args[0], func(text string) { fmt.Fprintln(env.Out, text) })
				return undoview.Tell(env, done, false, err)
			}
			id, err := env.Caller().Deny(cmd.Context(), args[0])
			if err == nil {
				fmt.Fprintf(env.Out, "denied %s\n", id)
			}
			return err
		},
		ValidArgsFunction: completeApproval(env),
	}
	cmd.Flags().BoolVar(&rollback, "rollback", false, "stop who wanted it, and take the open step back")
	return cmd
}

func listApprovals(ctx context.Context, env *cmdenv.Env, asJSON bool) error {
	list, _, err := env.Caller().Waiting(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return show.JSON(env.Out, show.NotNil(list))
	}
	if len(list) == 0 {
		fmt.Fprintln(env.Out, "nothing waits for approval")
	}
	for i, one := range list {
		if i > 0 {
			fmt.Fprintln(env.Out)
		}
		apiview.PrintApproval(env.Out, one)
	}
	return nil
}

// oneApproval tells of one, whichever workspace has it.
func oneApproval(ctx context.Context, env *cmdenv.Env, id string, follow, asJSON bool) error {
	entries, err := env.Caller().Running()
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer cancel()
	var said error
	for _, e := range entries {
		if _, err := e.Ask(ctx, api.Request{Op: api.OpApprovals, ID: id}); err != nil {
			said = err
			continue
		}
		err := e.Stream(ctx, api.Request{Op: api.OpApprovals, ID: id, Follow: follow}, func(r api.Reply) error { return tellApproval(env, e.ID, r.Approval, asJSON) })
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	if why := (*api.Denial)(nil); said == nil || errors.As(said, &why) && why.Code == api.CodeNotFound {
		return op.NoSuch("approval", id, "carrel approvals", supervisor.ErrNone)
	}
	return said
}

// followApprovals prints what comes in any workspace, those that start later
// included, until it is interrupted.
func followApprovals(ctx context.Context, env *cmdenv.Env, asJSON bool) error {
	ctx, cancel := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	defer wg.Wait()
	followed := make(map[string]bool)
	for {
		entries, err := env.Caller().Running()
		if err != nil {
			return err
		}
		for _, e := range entries {
			mu.Lock()
			begin := !followed[e.ID]
			followed[e.ID] = true
			mu.Unlock()
			if !begin {
				continue
			}
			wg.Go(func() {
				_ = e.Stream(ctx, api.Request{Op: api.OpApprovals, Follow: true}, func(r api.Reply) error {
					mu.Lock()
					defer mu.Unlock()
					return tellApproval(env, e.ID, r.Approval, asJSON)
				})
				mu.Lock()
				defer mu.Unlock()
				delete(followed, e.ID) // it is looked for again if it still lives
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookAgain):
		}
	}
}

func tellApproval(env *cmdenv.Env, workspace string, one *api.Approval, asJSON bool) error {
	if one == nil {
		return nil
	}
	one.Workspace = workspace
	if !asJSON {
		apiview.PrintApproval(env.Out, *one)
		return nil
	}
	line, err := json.Marshal(one)
	if err == nil {
		_, err = fmt.Fprintf(env.Out, "%s\n", show.PlainJSON(line))
	}
	return err
}

// approveOne asks the person at the terminal. The supervisor looks at us first,
// so that nobody types an id for nothing; it looks again at the end, and what
// it says counts.
func approveOne(ctx context.Context, env *cmdenv.Env, prefix, scope string) error {
	one, e, err := env.Caller().Approval(ctx, prefix)
	if err != nil {
		return err
	}
	req := api.Request{Op: api.OpApprove, ID: one.ID, Check: true, Scope: scope}
	if _, err := e.Ask(ctx, req); err != nil {
		return err
	}
	var text strings.Builder
	apiview.PrintApproval(&text, one)
	fmt.Fprintf(&text, "Type %s to allow this %s, anything else to leave it: ", one.ID, scopeText(scope))
	typed, err := supervisor.Confirm(text.String(), one.ID)
	if err != nil {
		return err
	}
	if !typed {
		return errors.New("that is not the id; nothing was approved\nhint: `carrel deny " + one.ID + "` refuses it")
	}
	req.Check = false
	if _, err := e.Ask(ctx, req); err != nil {
		return err
	}
	fmt.Fprintf(env.Out, "approved %s\n", one.ID)
	switch scope {
	case api.ScopeAlways:
		return saveHost(env, false, one.Subject)
	case api.ScopeProject:
		return saveForProject(env, e.Project, one.Subject)
	}
	return nil
}

// scopeText says for how long something is allowed.
func scopeText(scope string) string {
	switch scope {
	case api.ScopeWorkspace:
		return "as long as the workspace runs"
	case api.ScopeProject:
		return "in this project from now on, in your configuration"
	case api.ScopeAlways:
		return "from now on, in your configuration"
	}
	return "once"
}

// completeApproval names what waits.
func completeApproval(env *cmdenv.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list, _, _ := env.Caller().Waiting(cmd.Context())
		var names []string
		for _, one := range list {
			names = append(names, one.ID+"\t"+show.OneLine(show.Shorten(one.Operation+" "+one.Subject, show.ColumnMax)))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
