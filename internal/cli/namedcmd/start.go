package namedcmd

import (
	"errors"
	"fmt"
	"strings"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/policyflags"
	"carrel/internal/cli/taskcmd"
	"carrel/internal/cmdline"
	"carrel/internal/decide"
	"carrel/internal/named"
	"carrel/internal/op/startop"
	"carrel/internal/policy"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

// startFlags are those of start.
type startFlags struct {
	policyflags.Flags
	profile, purpose, agent string
	dryRun, passing         bool
	coordinator, notify     bool
	owner                   int
}

func startCommand(env *cmdenv.Env) *cobra.Command { return new(startFlags).command(env) }

func (f *startFlags) command(env *cmdenv.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "start [NAME] [flags]",
		Short: "Start a workspace that stays, for many commands side by side",
		Long: `Starts a workspace of the current project that stays until it is stopped: commands
are started in it with exec, launch, shell and terminal; they share processes and
localhost, and one policy, history and network. NAME is the project's name where
none is given. A workspace of that name that runs already is used when it has the
same policy; otherwise what is different is shown, and nothing is started.

With --agent NAME the workspace gets what that agent needs: its settings and login,
and its hosts. A profile says all of this, and what to start, in a file.
` + cmdline.PlainStatus,
		Example: `  carrel start
  carrel start web --network local --publish 5173
  carrel start dev --profile project-dev --purpose "the search page"
  carrel start fix --agent claude && carrel exec fix -- claude`,
		Args: cmdline.AtMostOne("a name"),
		RunE: func(cmd *cobra.Command, args []string) error { return startDesk(env, cmd, f, args) },
	}
	f.Register(cmd.Flags())
	f.RegisterNoPrompts(cmd.Flags())
	cmd.Flags().StringVar(&f.profile, "profile", "", "start from a profile (see carrel profile list)")
	cmd.Flags().StringVar(&f.purpose, "purpose", "", "say what it is for")
	cmd.Flags().StringVar(&f.agent, "agent", "", "give it what an agent needs: claude, codex, gemini, ...")
	cmd.Flags().Lookup("json").Usage = "print what was started as JSON"
	cmd.Flags().IntVar(&f.owner, "ends-with", 0, "end when this process of yours does")
	cmd.Flags().BoolVar(&f.passing, "keep-nothing", false, "with --ends-with: when that process ends, keep only the audit log")
	cmd.Flags().BoolVar(&f.notify, "notify", false, "have your desktop show when the agent in it waits or is done")
	cmd.Flags().BoolVar(&f.coordinator, "coordinator", false,
		"let programs inside give tasks to others, with carrel task, under the same policy")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "decide, say what it would be, and start nothing")
	policyflags.RegisterCompletions(env, cmd)
	return cmd
}

func startDesk(env *cmdenv.Env, cmd *cobra.Command, f *startFlags, args []string) error {
	c := env.CallerUnder(f.Permissions)
	r, err := f.request(env, cmd, args)
	if err != nil {
		return err
	}
	if env.Supervises {
		return startop.Serve(c, r)
	}
	if f.dryRun {
		d, err := startop.Would(c, r)
		if err != nil {
			return err
		}
		return tellWould(env, d, f.JSON)
	}
	started, err := startop.Start(cmd.Context(), c, r)
	if started == nil {
		return err
	}
	return errors.Join(tellStarted(env, started, f.JSON), err)
}

// request is what the flags ask for.
func (f *startFlags) request(env *cmdenv.Env, cmd *cobra.Command, args []string) (*startop.Request, error) {
	if err := named.CheckPurpose(f.purpose); err != nil {
		return nil, err
	}
	flags, err := f.Request(cmd)
	if err != nil {
		return nil, err
	}
	under, err := env.Ceilings(f.Permissions)
	if err != nil {
		return nil, err
	}
	r := &startop.Request{Name: strings.Join(args, ""), Purpose: f.purpose, Owner: f.owner, Passing: f.passing, Notify: f.notify, Words: env.Args}
	if len(args) == 1 {
		if err := named.CheckName(args[0]); err != nil {
			return nil, err
		}
	}
	r.Asked = decide.Request{
		Flags: flags, Default: policy.Agent, Preset: f.Preset, PromptsOff: f.NoPrompts, Engine: f.Engine, Image: f.Image, Size: f.Size,
		VM: f.VM, Environ: env.Environ,
		Profile: f.profile, Version: cmdenv.Version(), Ceilings: under, Stays: true,
	}
	if f.agent != "" {
		r.Asked.Argv = []string{f.agent}
	}
	if f.coordinator && env.Supervises {
		words, err := policyflags.Words(cmd.Flags(), notForChildren)
		if err != nil {
			return nil, err
		}
		r.Tasks = taskcmd.Coordinator(env, f.Permissions, f.agent, words)
	}
	return r, nil
}

// notForChildren are the flags that the tasks of a coordinator do not get: what names a workspace or
// its end, ports that only one can have, and that it may give tasks itself.
var notForChildren = []string{"agent", "purpose", "json", "permissions", "coordinator", "notify", "ends-with", "keep-nothing",
	"publish", "dry-run", "help"}

func tellStarted(env *cmdenv.Env, s *startop.Started, asJSON bool) error {
	if !asJSON || s.Status.Backend == string(policy.BackendNone) {
		for _, w := range s.Announcements {
			fmt.Fprintf(env.Err, "carrel: %s\n", show.OneLine(w))
		}
	}
	if asJSON {
		return show.JSON(env.Out, s)
	}
	for _, n := range s.Notes {
		fmt.Fprintf(env.Err, "carrel: note: %s\n", show.OneLine(n))
	}
	verb := "started"
	if s.Already {
		verb = "running already:"
	}
	fmt.Fprintf(env.Out, "%s %s\n", verb, s.Status.Name)
	if c := s.Status.Control; c != nil && c.Mode != api.ControlActive {
		fmt.Fprintf(env.Err, "carrel: it is under control %s (%s)\n", c.Mode, show.OneLine(strings.TrimSpace(c.By+" "+c.Reason)))
	}
	return nil
}

// tellWould prints what a workspace would be.
func tellWould(env *cmdenv.Env, d *api.Desk, asJSON bool) error {
	if asJSON {
		return show.JSON(env.Out, d)
	}
	fmt.Fprintf(env.Out, "would start %s\n", d.Name)
	t := &show.Table{}
	for _, one := range d.Policy {
		t.Row(one.Dimension, show.QuoteIf(one.Value), one.Source)
	}
	t.Print(env.Out, "  ")
	return nil
}
