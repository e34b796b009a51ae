package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"carrel/internal/api"
	"carrel/internal/apiview"
	"carrel/internal/cli/histories"
	"carrel/internal/cli/target"
	"carrel/internal/cmdline"
	"carrel/internal/history"
	"carrel/internal/policy"
	"carrel/internal/show"
	"carrel/internal/supervisor"

	"github.com/spf13/cobra"
)

// lookAgain is how often --follow looks for workspaces that were started since.
const lookAgain = 500 * time.Millisecond

func (a *app) approvalsCommand() *cobra.Command {
	var follow, asJSON bool
	cmd := &cobra.Command{
		Use:   "approvals [ID] [flags]",
		Short: "List what waits for your word",
		Long: `Lists the operations of all running workspaces that wait for a person's word,
oldest first. What nobody answers by its deadline is denied. With --follow it
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
				return a.oneApproval(cmd.Context(), args[0], follow, asJSON)
			}
			if follow {
				return a.followApprovals(cmd.Context(), asJSON)
			}
			return a.approvals(cmd.Context(), asJSON)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what comes")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON: one list, or one object a line with --follow")
	return cmdline.ExplainFlagErrors(cmd)
}

func (a *app) approveCommand() *cobra.Command {
	var workspace, always bool
	cmd := &cobra.Command{
		Use:   "approve ID [flags]",
		Short: "Allow one operation that waits",
		Long: `Shows an operation that waits and allows it, once, when you type its id again.
It takes a person at a terminal of their own: started by an agent, from behind
walls, or with its input from elsewhere, this command is refused. That check is
best effort. ID is an id of ` + "`carrel approvals`" + ` or its beginning.

A connection can be allowed for longer: with --workspace, its host and port as
long as the workspace runs; with --always, they are written into your
configuration as well.
` + cmdline.PlainStatus,
		Example: `  carrel approve 5d20e1
  carrel approve 5d --workspace
  carrel approve 5d --always`,
		Args: cmdline.OneArg("the id of an approval"),
		RunE: func(cmd *cobra.Command, args []string) error {
			scope := ""
			switch {
			case always:
				scope = api.ScopeAlways
			case workspace:
				scope = api.ScopeWorkspace
			}
			return a.approve(cmd.Context(), args[0], scope)
		},
		ValidArgsFunction: a.completeApproval,
	}
	cmd.Flags().BoolVar(&workspace, "workspace", false, "a connection: its host and port as long as the workspace runs")
	cmd.Flags().BoolVar(&always, "always", false, "a connection: its host and port from now on, in your configuration")
	cmdline.OneOf(cmd, "workspace", "always")
	return cmdline.ExplainFlagErrors(cmd)
}

func (a *app) denyCommand() *cobra.Command {
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
			one, e, err := a.findApproval(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if rollback {
				return a.rollback(cmd.Context(), one, e)
			}
			return a.refuse(cmd.Context(), one, e, false)
		},
		ValidArgsFunction: a.completeApproval,
	}
	cmd.Flags().BoolVar(&rollback, "rollback", false, "stop who wanted it, and take the open step back")
	return cmdline.ExplainFlagErrors(cmd)
}

// waiting asks all workspaces for what waits, oldest first.
func (a *app) waiting(ctx context.Context) ([]api.Approval, map[string]supervisor.Entry, error) {
	entries, err := target.Running(a.Env)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, target.AnswerTime)
	defer cancel()
	byID := make(map[string]supervisor.Entry)
	var list []api.Approval
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, e := range entries {
		byID[e.ID] = e
		wg.Go(func() {
			err := e.Stream(ctx, api.Request{Op: api.OpApprovals}, func(r api.Reply) error {
				if r.Approval != nil {
					mu.Lock()
					defer mu.Unlock()
					r.Approval.Workspace = e.ID
					list = append(list, *r.Approval)
				}
				return nil
			})
			if err != nil && e.Alive() {
				mu.Lock()
				defer mu.Unlock()
				fmt.Fprintf(a.Err, "carrel: %s\n", show.OneLine(err.Error()))
			}
		})
	}
	wg.Wait()
	slices.SortFunc(list, func(x, y api.Approval) int { return x.Asked.Compare(y.Asked) })
	return list, byID, nil
}

func (a *app) approvals(ctx context.Context, asJSON bool) error {
	list, _, err := a.waiting(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return show.JSON(a.Out, show.NotNil(list))
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Out, "nothing waits for approval")
	}
	for i, one := range list {
		if i > 0 {
			fmt.Fprintln(a.Out)
		}
		apiview.PrintApproval(a.Out, one)
	}
	return nil
}

// oneApproval tells of one, whichever workspace has it.
func (a *app) oneApproval(ctx context.Context, id string, follow, asJSON bool) error {
	entries, err := target.Running(a.Env)
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer cancel()
	var said error
	for _, e := range entries {
		if _, err := target.Call(ctx, e, api.Request{Op: api.OpApprovals, ID: id}); err != nil {
			said = err
			continue
		}
		err := e.Stream(ctx, api.Request{Op: api.OpApprovals, ID: id, Follow: follow}, func(r api.Reply) error { return a.tellApproval(e.ID, r.Approval, asJSON) })
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	if why := (*api.Denial)(nil); said == nil || errors.As(said, &why) && why.Code == api.CodeNotFound {
		return target.NoSuch("approval", id, "carrel approvals", supervisor.ErrNone)
	}
	return said
}

// followApprovals prints what comes in any workspace, those that start later
// included, until it is interrupted.
func (a *app) followApprovals(ctx context.Context, asJSON bool) error {
	ctx, cancel := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	defer wg.Wait()
	followed := make(map[string]bool)
	for {
		entries, err := target.Running(a.Env)
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
					return a.tellApproval(e.ID, r.Approval, asJSON)
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

func (a *app) tellApproval(workspace string, one *api.Approval, asJSON bool) error {
	if one == nil {
		return nil
	}
	one.Workspace = workspace
	if !asJSON {
		apiview.PrintApproval(a.Out, *one)
		return nil
	}
	line, err := json.Marshal(one)
	if err == nil {
		_, err = fmt.Fprintf(a.Out, "%s\n", show.PlainJSON(line))
	}
	return err
}

// findApproval finds what an argument names, and the workspace that it is of.
func (a *app) findApproval(ctx context.Context, prefix string) (api.Approval, supervisor.Entry, error) {
	list, byID, err := a.waiting(ctx)
	if err != nil {
		return api.Approval{}, supervisor.Entry{}, err
	}
	one, err := supervisor.PickApproval(list, prefix)
	if err != nil {
		return one, supervisor.Entry{}, target.NoSuch("approval", prefix, "carrel approvals", err)
	}
	return one, byID[one.Workspace], nil
}

// approve asks the person at the terminal. The supervisor looks at us first,
// so that nobody types an id for nothing; it looks again at the end, and what
// it says counts.
func (a *app) approve(ctx context.Context, prefix, scope string) error {
	one, e, err := a.findApproval(ctx, prefix)
	if err != nil {
		return err
	}
	req := api.Request{Op: api.OpApprove, ID: one.ID, Check: true, Scope: scope}
	if _, err := target.Call(ctx, e, req); err != nil {
		return err
	}
	tty, err := supervisor.OpenTerminal()
	if err != nil {
		return err
	}
	defer tty.Close()
	var text strings.Builder
	apiview.PrintApproval(&text, one)
	fmt.Fprintf(&text, "Type %s to allow this %s, anything else to leave it: ", one.ID, scopeText(scope))
	typed, err := tty.Ask(text.String())
	if err != nil {
		return err
	}
	if strings.TrimSpace(typed) != one.ID {
		return errors.New("that is not the id; nothing was approved\nhint: `carrel deny " + one.ID + "` refuses it")
	}
	req.Check = false
	if _, err := target.Call(ctx, e, req); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "approved %s\n", one.ID)
	if scope == api.ScopeAlways {
		return a.saveHost(false, one.Subject)
	}
	return nil
}

// scopeText says for how long something is allowed.
func scopeText(scope string) string {
	switch scope {
	case api.ScopeWorkspace:
		return "as long as the workspace runs"
	case api.ScopeAlways:
		return "from now on, in your configuration"
	}
	return "once"
}

// refuse says no; with end its app is ended first, and never hears it.
func (a *app) refuse(ctx context.Context, one api.Approval, e supervisor.Entry, end bool) error {
	if _, err := target.Call(ctx, e, api.Request{Op: api.OpDeny, ID: one.ID, End: end}); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "denied %s\n", one.ID)
	return nil
}

// rollback refuses an operation, ends its workspace, or its app in one that stays, and
// takes back the step that it was to be part of: the run's open one, or that of a job.
func (a *app) rollback(ctx context.Context, one api.Approval, e supervisor.Entry) error {
	if one.Operation == api.OpControl {
		return fmt.Errorf("%s asks for a change of the control: no step belongs to it\nhint: `carrel deny %s` refuses it", one.ID, one.ID)
	}
	before, err := histories.Open(a.Env, one.Project)
	if err != nil {
		return err
	}
	if err := before.May("undo", policy.UndoAll); err != nil {
		before.Close()
		return err
	}
	var first history.Step
	for _, s := range before.Log.Steps {
		if s.Number == one.Step || one.Step == 0 && s.Begin.Run == e.ID && s.Begin.Kind == history.StepRun && s.Open() {
			first = *s
		}
	}
	before.Close()
	if err := a.refuse(ctx, one, e, true); err != nil {
		return err
	}
	if one.App == "" {
		err = a.stop(ctx, e)
	} else {
		err = a.endApp(ctx, one.App, e)
	}
	if err != nil {
		return err
	}
	release, err := histories.Release(a.Env, one.Project)
	if err != nil {
		return err
	}
	defer release()
	h, err := histories.Open(a.Env, one.Project)
	if err != nil {
		return err
	}
	defer h.Close()
	var steps []uint64
	for _, s := range slices.Backward(h.Log.Changes()) {
		if s.Begin.Run == e.ID && s.Segment == first.Segment && s.Number >= first.Number {
			steps = append(steps, s.Number)
		}
	}
	if len(steps) == 0 {
		fmt.Fprintln(a.Out, "nothing had been changed in its step")
		return nil
	}
	by, err := histories.Request(a.Env, one.Project)
	if err != nil {
		return err
	}
	return histories.TakeBack(a.Env, h, histories.Undo{By: by}, history.Request{Steps: steps})
}

// endApp ends an app and all that it has started.
func (a *app) endApp(ctx context.Context, app string, e supervisor.Entry) error {
	r, err := e.Call(ctx, api.Request{Op: api.OpKill, App: app})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "ended %s in %s\n", r.App.Name, e.Name)
	return nil
}

// completeApproval names what waits.
func (a *app) completeApproval(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, _, _ := a.waiting(cmd.Context())
	var names []string
	for _, one := range list {
		names = append(names, one.ID+"\t"+show.OneLine(show.Shorten(one.Operation+" "+one.Subject, show.ColumnMax)))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
