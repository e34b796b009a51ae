package configcmd

import (
	"os"

	"carrel/internal/agents"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/policyflags"
	"carrel/internal/cmdline"
	"carrel/internal/decide"
	"carrel/internal/explain"
	"carrel/internal/policy"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

// explainFlags are what explain takes beside the flags of run.
type explainFlags struct {
	run         policyflags.Flags
	paths       []string
	hosts       []string
	plan, shell bool
}

func explainCommand(env *cmdenv.Env) *cobra.Command {
	f := &explainFlags{}
	cmd := &cobra.Command{
		Use:   "explain [flags] [-- COMMAND [ARG...]]",
		Short: "Say what a command could do behind the walls, and why",
		Long: `Decides exactly as carrel run does and stops there: nothing is started and
nothing is written. Prints each dimension of the policy with its value and who
said so (flag, variable, file:line, default). Prints the agent that was recognised,
and what was ignored.

--path and --host ask about one file or one host: whether it can be reached, by
which rule, and what would change that. Both may be given more than once. A path
may start with ~, :project, :home, :tmp or :system. A host is not looked up: what
a name resolves to is judged when a connection is made.

--plan prints the compiled plan, one line for each part. --json prints everything that
was decided; a path that is not UTF-8 is written there as {"base64": "..."}.

Exit status:
  0    decided
  125  carrel run would refuse this, or something went wrong`,
		Example: `  carrel explain
  carrel explain -- claude
  carrel explain --network open --path ~/.ssh/id_ed25519 --path .env
  carrel explain --host api.github.com:443 -- codex
  carrel explain --plan -- make test`,
		RunE: func(cmd *cobra.Command, args []string) error { return explainPolicy(env, cmd, f, args) },
	}
	fs := cmd.Flags()
	fs.SetInterspersed(false)
	f.run.Register(fs)
	f.run.RegisterNoPrompts(fs)
	f.run.RegisterReview(fs)
	fs.Lookup("json").Usage = "print everything that was decided as JSON"
	fs.StringArrayVar(&f.paths, "path", nil, "say what holds at this path, and why")
	fs.StringArrayVar(&f.hosts, "host", nil, "say whether this host can be reached, and why (NAME[:PORT])")
	fs.BoolVar(&f.plan, "plan", false, "print the compiled plan, one line for each part")
	fs.BoolVar(&f.shell, "shell", false, "explain carrel shell instead of carrel run (persona human)")
	policyflags.RegisterCompletions(env, cmd)
	cmdline.CompleteFlag(cmd, "host", cobra.NoFileCompletions)
	return cmd
}

func explainPolicy(env *cmdenv.Env, cmd *cobra.Command, f *explainFlags, argv []string) error {
	p, err := prepareExplained(env, cmd, f, argv)
	if err != nil {
		return explain.Refused(env.Out, f.run.JSON, err)
	}
	x, err := explain.Of(p, explain.Question{Preset: f.run.Preset, Paths: f.paths, Hosts: f.hosts, Plan: f.plan})
	if err != nil {
		return err
	}
	if f.run.JSON {
		return show.JSON(env.Out, x)
	}
	x.Print(env.Out, f.plan)
	return nil
}

// prepareExplained prepares as run and shell do. Without a command it is a
// plain one: what is default for every command, and no agent's.
func prepareExplained(env *cmdenv.Env, cmd *cobra.Command, f *explainFlags, argv []string) (*decide.Decision, error) {
	flags, err := f.run.Request(cmd)
	if err != nil {
		return nil, err
	}
	persona, shell := policy.Agent, f.shell
	if shell {
		persona = policy.Human
		argv = append([]string{decide.UserShell(os.Getenv)}, argv...)
	}
	if b, ok := agents.BuiltinPreset(f.run.Preset); len(argv) == 0 && (f.run.Preset == "" || ok && len(b.Command) == 0) {
		argv, shell = []string{decide.UserShell(os.Getenv)}, true
	}
	under, err := env.Ceilings(f.run.Permissions)
	if err != nil {
		return nil, err
	}
	p, err := decide.Prepare(decide.Request{
		Argv: argv, Shell: shell, Flags: flags, Default: persona, Preset: f.run.Preset, PromptsOff: f.run.NoPrompts,
		Ceilings: under, Engine: f.run.Engine, Image: f.run.Image, Size: f.run.Size,
		VM: f.run.VM, Environ: env.Environ,
	})
	if err != nil {
		return nil, err
	}
	if err := p.PreviewEngine(); err != nil {
		return nil, err
	}
	return p, p.Preview()
}
