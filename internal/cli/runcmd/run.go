package runcmd

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/policyflags"
	"carrel/internal/cmdline"
	"carrel/internal/decide"
	"carrel/internal/op/runop"
	"carrel/internal/policy"
	"carrel/internal/show"
	"carrel/internal/stdio"
	"carrel/internal/stepview"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func runCommand(env *cmdenv.Env) *cobra.Command {
	f := &policyflags.Flags{}
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG...]",
		Short: "Run a command behind walls in the current project",
		Long: `Runs COMMAND in the current project behind walls. It sees the project, the
system's and your toolchains' programs, and nothing else of your home; known
agents (claude, codex, gemini, ...) also get their own settings and login, and have
short forms of this command: carrel claude, see carrel help claude.
` + cmdline.CommandStatus,
		Example: `  carrel run -- make test
  carrel run --no-prompts -- claude
  carrel run --network local --deny '**/*.pem' -- npm test
  carrel run --allow-host preset:npm --allow-host '*.example.com' -- npm install
  carrel run --publish 5173 --host-port 5432 -- npm run dev
  carrel run --read ~/reference --timeout 10m -- codex exec "explain this"
  carrel run --review -- npm install
  carrel run --backend vm --memory-mb 4096 --cpus 4 -- make`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return startRun(env, cmd, f, launch{argv: args, persona: policy.Agent})
		},
	}
	cmd.Flags().SetInterspersed(false)
	f.Register(cmd.Flags())
	f.RegisterNoPrompts(cmd.Flags())
	f.RegisterReview(cmd.Flags())
	policyflags.RegisterCompletions(env, cmd)
	return cmd
}

func shellCommand(env *cmdenv.Env) *cobra.Command {
	f := &policyflags.Flags{}
	agent := ""
	cmd := &cobra.Command{
		Use:   "shell [NAME] [flags] [-- ARG...]",
		Short: "Open your own shell behind walls in the current project",
		Long: `Opens your shell behind the same walls, for you: persona human, so that the
host's display is granted where there is one. With NAME it opens in that running
workspace, under its policy, and no other flags count.

With --agent it is a workspace as that agent would get it, with its settings, its login
and its hosts. Start the agent there to log in for the first time: the login is yours
from then on, in other projects and outside too.
` + cmdline.CommandStatus,
		Example: `  carrel shell
  carrel shell --agent claude
  carrel shell dev
  carrel shell --allow-host preset:debian --on-unknown ask
  carrel shell -- -c 'make && ./demo'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			shell := []string{decide.UserShell(os.Getenv)}
			if len(args) == 0 || cmd.ArgsLenAtDash() == 0 {
				return startRun(env, cmd, f, launch{argv: append(shell, args...), shell: true, persona: policy.Human, forAgent: agent})
			}
			name, rest := args[0], args[1:]
			if len(rest) > 0 && rest[0] == "--" {
				rest = rest[1:]
			}
			if _, err := env.Ceilings(f.Permissions); err != nil {
				return err
			}
			e, err := env.Caller().Named(name)
			if err != nil {
				return err
			}
			shell[0] = decide.ShellIn(policy.Backend(e.Backend), os.Getenv)
			tty := show.IsTerminal(env.Out) && term.IsTerminal(int(os.Stdin.Fd()))
			return execAt(cmd.Context(), env, &commandFlags{}, e, append(shell, rest...), tty)
		},
	}
	cmd.Flags().SetInterspersed(false)
	f.Register(cmd.Flags())
	cmd.Flags().StringVar(&agent, "agent", "", "give it what an agent needs: claude, codex, gemini, ...")
	policyflags.RegisterCompletions(env, cmd)
	return cmd
}

// launch is what run, shell and the agents' own commands have started.
type launch struct {
	argv    []string
	shell   bool // argv begins with the user's shell
	persona policy.Persona
	agent   string // the agent that argv has to start, "" for whatever it starts

	forAgent string // the agent that the workspace is for, whatever argv is
}

// startRun is what they share: prepare, start, tell.
func startRun(env *cmdenv.Env, cmd *cobra.Command, f *policyflags.Flags, l launch) error {
	if len(l.argv) == 0 && f.Preset == "" {
		return fmt.Errorf("no command given\nhint: carrel run -- COMMAND [ARG...]")
	}
	flags, err := f.Request(cmd)
	if err != nil {
		return err
	}
	under, err := env.Ceilings(f.Permissions)
	if err != nil {
		return err
	}
	s, err := runop.New(decide.Request{
		Version: cmdenv.Version(), Shell: l.shell,
		Argv: l.argv, Flags: flags, Default: l.persona, Agent: l.agent, For: l.forAgent, Preset: f.Preset, PromptsOff: f.NoPrompts,
		Ceilings: under, Engine: f.Engine, Image: f.Image, Size: f.Size,
		VM: f.VM, Environ: env.Environ,
	})
	if err != nil {
		return err
	}
	announce(env, s.Decision)
	if l.agent != "" {
		offerNoPrompts(env, s.Decision, cmd)
	}
	r, layer, err := s.Start()
	if !f.JSON {
		r.Denials = untold(r.Denials, s.Policy.Warnings, err)
	}
	tellResult(env, s, r, f.JSON)
	if !f.JSON && (err == nil || r.Layer != "") {
		tellLayer(env, layer)
	}
	if err != nil {
		return &cmdenv.ExitError{Status: r.Exit, Err: err}
	}
	env.Status = r.Exit
	if r.Signal != "" {
		stdio.DieBy(syscall.Signal(r.Exit - 128))
	}
	return nil
}

// announce says before the start what the user has to know: it is the last
// moment before the command owns the screen.
func announce(env *cmdenv.Env, p *decide.Decision) {
	for _, w := range p.Announcements() {
		fmt.Fprintln(env.Err, env.Paint(env.Err).Yellow("carrel: "+show.Escape(w)))
	}
}

// tellResult prints the summary: JSON when asked for, else to a terminal only, and
// only when there is something to say.
func tellResult(env *cmdenv.Env, s *runop.Session, r *api.Result, asJSON bool) {
	tty := term.IsTerminal(int(os.Stderr.Fd()))
	uneventful := len(r.Denials)+len(r.Notes)+len(r.Born)+len(r.Listed) == 0 && (r.Exit == 0 || len(r.Hidden) == 0)
	if uneventful && !asJSON && !tty && !s.Lost() {
		return
	}
	var changed runop.Changed
	if asJSON || tty || s.Lost() {
		s.Steps(r)
	}
	if asJSON || tty {
		changed = s.Changes(r)
		if changed.Complete {
			r.Changed = &changed.Files
		}
	}
	if asJSON {
		if out, err := json.Marshal(r); err == nil {
			fmt.Fprintf(env.Err, "%s\n", show.PlainJSON(out))
		}
		return
	}
	for _, n := range r.Notes {
		fmt.Fprintf(env.Err, "carrel: note: %s\n", show.OneLine(n))
	}
	for _, l := range r.Links {
		fmt.Fprintf(env.Err, "carrel: link: %s\n", show.OneLine(l.URL))
	}
	tellDenials(env, r)
	tellHidden(env, r, tty)
	tellSteps(env, r.Steps)
	tellListed(env, r, changed.Risky)
	if tty {
		tellResume(env, s, r)
	}
}

// tellResume says how to go on with a conversation: the agent's own words for it mean one
// that is kept outside.
func tellResume(env *cmdenv.Env, s *runop.Session, r *api.Result) {
	id := s.Home.Conversation(r.Started)
	if id == "" {
		return
	}
	words := strings.Join(s.Home.Agent.Resume.Words, " ")
	fmt.Fprintf(env.Err, "carrel: to resume: `carrel %s %s %s`; the conversation is kept for this project, `%s %s` outside does not find it\n",
		s.Home.Agent.Name, words, id, s.Home.Agent.Name, words)
}

// tellSteps prints what can be taken back, how, and what cannot.
func tellSteps(env *cmdenv.Env, steps []api.Step) {
	if len(steps) == 0 {
		return
	}
	var all stepview.Step
	for _, s := range steps {
		all.Added, all.Modified, all.Renamed, all.Removed = all.Added+s.Added, all.Modified+s.Modified, all.Renamed+s.Renamed, all.Removed+s.Removed
		for i, n := range s.NotKept {
			if i == maxListed {
				fmt.Fprintf(env.Err, "carrel: step %d: NOT kept: %d more; `carrel show %d` names them all\n", s.Step, len(s.NotKept)-i, s.Step)
				break
			}
			fmt.Fprintf(env.Err, "carrel: step %d: NOT kept: %s: %s\n", s.Step, show.OneLine(show.QuoteIf(n.Path)), show.OneLine(n.Why))
		}
	}
	for _, s := range steps {
		all.Edited += len(s.Edited)
		for i, at := range s.Edited {
			if i == maxListed {
				fmt.Fprintf(env.Err, "carrel: step %d: %d more of the kind; `carrel show %d` names them all\n", s.Step, len(s.Edited)-i, s.Step)
				break
			}
			fmt.Fprintf(env.Err, "carrel: step %d: another program wrote %s meanwhile, and the step destroyed that; `carrel show %d` says where it is kept\n", s.Step, show.OneLine(show.QuoteIf(at)), s.Step)
		}
	}
	switch first, last := steps[0], steps[len(steps)-1]; {
	case len(steps) > 1:
		fmt.Fprintf(env.Err, "carrel: %d steps, %d to %d: %s; `carrel history` lists them\n", len(steps), first.Step, last.Step, stepview.Tally(all))
	case last.Newest:
		fmt.Fprintf(env.Err, "carrel: step %d: %s; `carrel undo` takes it back\n", last.Step, stepview.Tally(all))
	default: // somebody else made a later one meanwhile
		fmt.Fprintf(env.Err, "carrel: step %d: %s; `carrel undo --step %d` takes it back\n", last.Step, stepview.Tally(all), last.Step)
	}
}

// tellListed prints the names to look at before anything outside acts on them.
func tellListed(env *cmdenv.Env, r *api.Result, risky []string) {
	born := func(name string) bool { return slices.Contains(r.Born, name) }
	listed := slices.DeleteFunc(slices.Clone(r.Listed), born)
	for _, name := range listed[:min(len(listed), maxListed)] {
		fmt.Fprintf(env.Err, "carrel: made or changed inside: %s can make programs outside run code; look at it first\n", show.OneLine(name))
	}
	if more := len(listed) - maxListed; more > 0 {
		fmt.Fprintf(env.Err, "carrel: made or changed inside: %d more of the kind; `carrel run --json` names them all\n", more)
	}
	for _, name := range r.Born {
		fmt.Fprintln(env.Err, env.Paint(env.Err).Red("carrel: WARNING: "+show.OneLine(name)+" was created or replaced inside: programs outside act on it; look at it before you use git, an editor or an agent here"))
	}
	for _, name := range slices.DeleteFunc(slices.Clone(risky), born) {
		fmt.Fprintf(env.Err, "carrel: look at %s: it can make programs outside run code\n", show.OneLine(name))
	}
}

// maxListed bounds the lines about names that could run code later: an install
// of packages makes hundreds.
const maxListed = 8
