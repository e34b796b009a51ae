package namedcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/policyflags"
	"carrel/internal/cmdline"
	"carrel/internal/decide"
	"carrel/internal/named"
	"carrel/internal/policy"
	"carrel/internal/profile"
	"carrel/internal/session"
	"carrel/internal/show"
	"carrel/internal/supervisor"

	"github.com/spf13/cobra"
)

// startFlags are those of start.
type startFlags struct {
	policyflags.Flags
	profile, purpose, agent string
	dryRun, passing         bool
	owner                   int
}

func startCommand(env *cmdenv.Env) *cobra.Command {
	f := &startFlags{}
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
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "decide, say what it would be, and start nothing")
	policyflags.RegisterCompletions(env, cmd)
	return cmd
}

// started is what `carrel start --json` prints.
type started struct {
	session.Ready
	Already bool `json:"already_running"`
}

func startDesk(env *cmdenv.Env, cmd *cobra.Command, f *startFlags, args []string) error {
	if err := named.CheckPurpose(f.purpose); err != nil {
		return err
	}
	req, err := f.deskRequest(env, cmd)
	if err != nil {
		return err
	}
	if f.passing && f.owner == 0 {
		return errors.New("--keep-nothing is for a workspace that ends with a process\nhint: --ends-with names it")
	}
	if env.Supervises {
		return serveDesk(env, req, f, args)
	}
	name, err := deskName(env, args, f.profile)
	if err != nil {
		return err
	}
	if f.dryRun {
		return wouldStart(env, req, name, f)
	}
	for end := time.Now().Add(raceTime); ; {
		if e, ok, err := env.Caller().WholeName(name); err != nil {
			return err
		} else if ok {
			return adopt(cmd.Context(), env, e, req, f)
		}
		ready, err := session.StartDesk(env.Args, req.Ceilings, func(text string) { fmt.Fprintf(env.Err, "carrel: %s\n", show.OneLine(text)) })
		if err == nil {
			return tellStarted(env, started{Ready: ready}, f.JSON)
		}
		if !errors.Is(err, named.ErrTaken) {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("workspace %q: another process holds the name, and does not answer\nhint: is it still ending? `carrel list` shows it", name)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// raceTime is how long one of two starters of a name waits for the other.
const raceTime = 20 * time.Second

// deskName is the name that was given, or the project's: a profile may be for another
// one than where we are.
func deskName(env *cmdenv.Env, args []string, saved string) (string, error) {
	if len(args) == 1 {
		return args[0], named.CheckName(args[0])
	}
	cwd := ""
	if saved != "" {
		p, err := profile.Load(profile.Dir(env.Getenv), saved)
		if err != nil {
			return "", err
		}
		here, err := os.Getwd()
		if err != nil {
			return "", err
		}
		if p, err = p.At(env.Getenv("HOME"), here); err != nil {
			return "", err
		}
		cwd = p.Cwd
	}
	project, err := env.Caller().ProjectOf(cwd)
	return named.NameFor(project), err
}

func (f *startFlags) deskRequest(env *cmdenv.Env, cmd *cobra.Command) (decide.Request, error) {
	flags, err := f.Request(cmd)
	req := decide.Request{Flags: flags, Default: policy.Agent, Preset: f.Preset, PromptsOff: f.NoPrompts,
		Engine: f.Engine, Image: f.Image, Size: f.Size, Environ: env.Environ, Profile: f.profile}
	req.Version = cmdenv.Version()
	if f.agent != "" {
		req.Argv = []string{f.agent}
	}
	req.Stays = true
	if err == nil {
		req.Ceilings, err = env.Ceilings(f.Permissions)
	}
	return req, err
}

// knownAgent says why there is no such agent as was asked for.
func (f *startFlags) knownAgent(p *decide.Decision) error {
	if f.agent == "" || p.Agent != nil || p.NoWalls() { // where it finds its own
		return nil
	}
	return fmt.Errorf("--agent %q: no agent of that name is known, or it is not installed\nhint: `carrel preset list` names those that are known", f.agent)
}

// serveDesk is the supervisor's own part.
func serveDesk(env *cmdenv.Env, req decide.Request, f *startFlags, args []string) error {
	tell := session.NewReporter()
	if tell == nil {
		return fmt.Errorf("%s is started by `carrel start`, not by hand", session.DeskArg0)
	}
	name, err := deskName(env, args, f.profile)
	var s *session.Session
	if err == nil {
		s, err = session.New(req)
	}
	if err == nil {
		err = f.knownAgent(s.Decision)
	}
	if err != nil {
		tell.Failed(err)
		return err
	}
	_, err = s.Serve(session.DeskRequest{Name: name, Purpose: f.purpose, Owner: f.owner, Passing: f.passing}, tell)
	if err != nil {
		tell.Failed(err)
	}
	return err
}

// adopt uses a workspace that runs already, if it is what was asked for.
func adopt(ctx context.Context, env *cmdenv.Env, e supervisor.Entry, req decide.Request, f *startFlags) error {
	p, err := decide.Prepare(req)
	if err == nil {
		err = f.knownAgent(p)
	}
	if err != nil {
		return err
	}
	r, err := e.Ask(ctx, api.Request{Op: api.OpStatus})
	if err != nil {
		return err
	}
	if err := p.ForDesk(); err != nil {
		return err
	}
	if s := r.Status; s.Digest != p.Digest() {
		lines := decide.Differences(s.Policy, p.Decided())
		if len(lines) == 0 {
			lines = []string{"the values of variables, or defaults of this machine, have changed since it was started"}
		}
		text := ""
		for _, l := range lines {
			text += "\n  " + l
		}
		return &api.Denial{Code: api.CodeExists, Operation: "start", Subject: e.Name, Rule: "one policy for one workspace", Source: "built in",
			Message: fmt.Sprintf("workspace %q runs already, and is another one:%s", e.Name, text),
			Hint:    fmt.Sprintf("`carrel stop %s` ends it; another name starts a second one", e.Name)}
	}
	again := session.Ready{Status: *r.Status}
	if p.NoWalls() {
		again.Announcements = p.Announcements()
	}
	return tellStarted(env, started{Ready: again, Already: true}, f.JSON)
}

func tellStarted(env *cmdenv.Env, s started, asJSON bool) error {
	if !asJSON || s.Status.Backend == string(policy.BackendNone) {
		for _, w := range s.Announcements {
			fmt.Fprintf(env.Err, "carrel: %s\n", show.OneLine(w))
		}
	}
	if asJSON {
		if err := show.JSON(env.Out, s); err != nil {
			return err
		}
		return setupFailed(env, s)
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
	return setupFailed(env, s)
}

// endTime is how long a workspace may take to stop after its setup has failed.
const endTime = 30 * time.Second

// setupFailed says why a workspace was stopped again, once it has: another start may follow.
func setupFailed(env *cmdenv.Env, s started) error {
	if s.Failed == nil {
		return nil
	}
	if e, running, _ := env.Caller().WholeName(s.Status.Name); running {
		ctx, cancel := context.WithTimeout(context.Background(), endTime)
		defer cancel()
		if err := e.WaitEnd(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("the profile's setup command %q ended with status %d; the workspace was stopped\nhint: carrel logs %s %s", s.Failed.Name, s.Failed.Exit, s.Status.Name, s.Failed.ID)
}

// wouldStart says what a workspace would be.
func wouldStart(env *cmdenv.Env, req decide.Request, name string, f *startFlags) error {
	p, err := decide.Prepare(req)
	if err == nil {
		err = f.knownAgent(p)
	}
	if err == nil {
		err = p.ForDesk()
	}
	if err != nil {
		return err
	}
	if f.JSON {
		return show.JSON(env.Out, api.Desk{Manifest: api.Manifest{Name: name}, State: "would start", Policy: p.Decided(), Digest: p.Digest(), Profile: req.Profile, Apps: []api.App{}})
	}
	fmt.Fprintf(env.Out, "would start %s\n", name)
	t := &show.Table{}
	for _, d := range p.Decided() {
		t.Row(d.Dimension, show.QuoteIf(d.Value), d.Source)
	}
	t.Print(env.Out, "  ")
	return nil
}
