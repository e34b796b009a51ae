package cli

import (
	"errors"
	"fmt"
	"os"

	"carrel/internal/agents"
	"carrel/internal/api"
	"carrel/internal/policy"
	"carrel/internal/show"
	"carrel/internal/workspace"

	"github.com/spf13/cobra"
)

// explainFlags are what explain takes beside the flags of run.
type explainFlags struct {
	run         runFlags
	paths       []string
	hosts       []string
	plan, shell bool
}

func (a *app) explainCommand() *cobra.Command {
	f := &explainFlags{}
	cmd := &cobra.Command{
		Use:   "explain [flags] [-- COMMAND [ARG...]]",
		Short: "Say what a command could do behind the walls, and why",
		Long: `Decides exactly as carrel run does and stops there: nothing is started and
nothing is written. Prints each dimension of the policy with its value and who
said so (flag, variable, file:line, default), the agent that was recognised,
and what was ignored.

--path and --host ask about one file or one host: whether it can be reached, by
which rule, and what would change that. Both may be given more than once. A path
may start with ~, :project, :home, :tmp or :system. A host is not looked up: what
a name resolves to is judged when a connection is made.

--plan prints the compiled plan, one step a line. --json prints everything that
was decided; a path that is not UTF-8 is written there as {"base64": "..."}.

Exit status:
  0    decided
  125  carrel run would refuse this, or something went wrong`,
		Example: `  carrel explain
  carrel explain -- claude
  carrel explain --network open --path ~/.ssh/id_ed25519 --path .env
  carrel explain --host api.github.com:443 -- codex
  carrel explain --plan -- make test`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.explain(cmd, f, args) },
	}
	fs := cmd.Flags()
	fs.SetInterspersed(false)
	f.run.register(fs)
	f.run.registerNoPrompts(fs)
	fs.Lookup("json").Usage = "print everything that was decided as JSON"
	fs.StringArrayVar(&f.paths, "path", nil, "say what holds at this path, and why")
	fs.StringArrayVar(&f.hosts, "host", nil, "say whether this host can be reached, and why (NAME[:PORT])")
	fs.BoolVar(&f.plan, "plan", false, "print the compiled plan, one step a line")
	fs.BoolVar(&f.shell, "shell", false, "explain carrel shell instead of carrel run (persona human)")
	a.registerCompletions(cmd)
	completeFlag(cmd, "host", cobra.NoFileCompletions)
	return explainFlagErrors(cmd)
}

func (a *app) explain(cmd *cobra.Command, f *explainFlags, argv []string) error {
	p, err := a.prepareExplained(cmd, f, argv)
	if err != nil {
		return a.explainRefusal(f.run.json, err)
	}
	x, err := a.explained(p, f)
	if err != nil {
		return err
	}
	if f.run.json {
		return show.JSON(a.out, x)
	}
	x.print(a.out, f.plan)
	return nil
}

// prepareExplained prepares as run and shell do. Without a command it is a
// plain one: what is default for every command, and no agent's.
func (a *app) prepareExplained(cmd *cobra.Command, f *explainFlags, argv []string) (*workspace.Prepared, error) {
	flags, err := f.run.request(cmd)
	if err != nil {
		return nil, err
	}
	persona := policy.Agent
	if f.shell {
		persona = policy.Human
		argv = append([]string{workspace.UserShell(os.Getenv)}, argv...)
	}
	if b, ok := agents.BuiltinPreset(f.run.preset); len(argv) == 0 && (f.run.preset == "" || ok && len(b.Command) == 0) {
		argv = []string{workspace.UserShell(os.Getenv)}
	}
	under, err := a.ceilings(f.run.permissions)
	if err != nil {
		return nil, err
	}
	p, err := workspace.Prepare(workspace.Request{
		Argv: argv, Flags: flags, Default: persona, Preset: f.run.preset, PromptsOff: f.run.noPrompts, Ceilings: under, Engine: f.run.engine, Size: f.run.size, Environ: a.environ,
	})
	if err != nil {
		return nil, err
	}
	if err := p.PreviewEngine(); err != nil {
		return nil, err
	}
	return p, p.Preview()
}

// refusedJSON is what explain --json prints where run would refuse.
type refusedJSON struct {
	Error    text          `json:"error"`
	Denial   *denialJSON   `json:"denial,omitempty"`
	Refusals []refusalJSON `json:"refusals,omitempty"`
}

// denialJSON is a denial that was not recorded: it has no time and no run.
type denialJSON struct {
	Code      string `json:"code"`
	Message   text   `json:"message"`
	Operation string `json:"operation"`
	Subject   text   `json:"subject"`
	Rule      text   `json:"rule"`
	Source    text   `json:"source"`
	Hint      text   `json:"hint,omitempty"`
}

type refusalJSON struct {
	Dimension policy.Dimension `json:"dimension"`
	Requested text             `json:"requested"`
	Allowed   text             `json:"allowed"`
	Asked     sourceJSON       `json:"asked_by"`
	Ceiling   sourceJSON       `json:"ceiling"`
}

// explainRefusal prints a refusal as JSON where that was asked for; the message
// and the exit status are the same either way.
func (a *app) explainRefusal(asJSON bool, err error) error {
	if !asJSON || err == nil {
		return err
	}
	out := refusedJSON{Error: text(err.Error())}
	var d *api.Denial
	if errors.As(err, &d) {
		out.Denial = &denialJSON{Code: d.Code, Message: text(d.Message), Operation: d.Operation, Subject: text(d.Subject),
			Rule: text(d.Rule), Source: text(d.Source), Hint: text(d.Hint)}
	}
	for _, r := range policy.Refusals(err) {
		out.Refusals = append(out.Refusals, refusalJSON{
			Dimension: r.Dimension, Requested: text(r.Requested), Allowed: text(r.Allowed),
			Asked: sourceOf(r.Asked), Ceiling: sourceOf(r.Source),
		})
	}
	if jsonErr := show.JSON(a.out, out); jsonErr != nil {
		return fmt.Errorf("%w; %w", err, jsonErr)
	}
	return err
}
