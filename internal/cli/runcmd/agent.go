package runcmd

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"carrel/internal/agents"
	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/policyflags"
	"carrel/internal/cmdline"
	"carrel/internal/decide"
	"carrel/internal/policy"
	"carrel/internal/show"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// AgentCommand is `carrel claude` and its like: the short form of carrel run for a known
// agent. Its words are the agent's, so flags are not parsed before it is known whose
// they are.
func AgentCommand(env *cmdenv.Env, agent agents.Agent, word string) *cobra.Command {
	f := &policyflags.Flags{}
	cmd := &cobra.Command{
		Use:    word + " [FLAG... --] [ARG...]",
		Short:  "Start " + agent.Title + " behind walls in the current project",
		Hidden: true, // there are some twenty; the program's help has a line for them all
		Long: strings.NewReplacer("AGENT", word, "TITLE", agent.Title).Replace(`Starts TITLE behind walls in the current project, as carrel run does, with its own
settings and login, its hosts, and its own sandbox off.

All words are the agent's own. Flags of carrel stand before a --, and what is behind
that is the agent's. The first word decides: if it begins with "-" and there is a --,
what stands before the first -- has to be flags of carrel, or nothing is started.

  carrel AGENT ARG...             ARG... is the agent's
  carrel AGENT FLAG... -- ARG...  FLAG... is carrel's
  carrel AGENT -- ARG...          ARG... is the agent's, whatever is in it
  carrel AGENT -- --help          the agent's own help
  carrel AGENT --task NAME        begins a task for it, or goes on with one: carrel task
`) + cmdline.CommandStatus,
		Example: strings.ReplaceAll(`  carrel AGENT
  carrel AGENT --no-prompts --
  carrel AGENT --read ~/reference --network open -- --version`, "AGENT", word),
		DisableFlagsInUseLine: true,
		// A shell is offered our flags and their values, up to the first word of the agent's.
		DisableFlagParsing: !env.Completing(),
	}
	cmd.RunE = func(cmd *cobra.Command, words []string) error { return startAgent(env, cmd, f, agent, word, words) }
	cmd.Flags().SetInterspersed(false)
	f.Register(cmd.Flags())
	f.RegisterNoPrompts(cmd.Flags())
	f.RegisterReview(cmd.Flags())
	policyflags.RegisterCompletions(env, cmd)
	return cmd
}

// splitWords parts the words behind an agent's name: flags of ours, and the agent's own
// words. Ours are what stands before the first "--", if that begins with a flag. By the
// first word alone, so that a line means the same with every version's flags, and a
// mistake in one of ours is told instead of handed to the agent.
func splitWords(words []string) (ours, theirs []string) {
	at := slices.Index(words, "--")
	if at < 0 || at > 0 && !strings.HasPrefix(words[0], "-") {
		return nil, words
	}
	return words[:at], words[at+1:]
}

func startAgent(env *cmdenv.Env, cmd *cobra.Command, f *policyflags.Flags, agent agents.Agent, word string, list []string) error {
	if len(list) == 1 && (list[0] == "--help" || list[0] == "-h") {
		return cmd.Help()
	}
	ours, theirs := splitWords(list)
	cmd.DisableFlagParsing = false
	all := fmt.Sprintf("if all of it is meant for %s: carrel %s -- %s", agent.Title, word, show.Words(show.Texts(list)))
	if err := cmd.ParseFlags(ours); err != nil {
		return fmt.Errorf("%w\nhint: what stands before -- are flags of carrel; %s", cmdline.FlagError(err), all)
	}
	switch help, _ := cmd.Flags().GetBool("help"); {
	case help:
		return cmd.Help()
	case cmd.Flags().NArg() > 0:
		return fmt.Errorf("%q is no flag of carrel, and stands before --\nhint: %s", cmd.Flags().Arg(0), all)
	}
	warnOfForgottenDashes(env, cmd, agent, word, list)
	argv := append([]string{agent.Program(word)}, theirs...)
	err := startRun(env, cmd, f, launch{argv: argv, persona: policy.Agent, agent: agent.Name})
	var missing *decide.NotInstalledError
	if errors.As(err, &missing) {
		return &cmdenv.ExitError{Status: api.ExitNotFound, Err: err}
	}
	return err
}

// warnOfForgottenDashes tells that a flag of ours without a "--" goes to the agent: who
// wrote it believes in a wall that is not there.
func warnOfForgottenDashes(env *cmdenv.Env, cmd *cobra.Command, agent agents.Agent, word string, words []string) {
	if len(words) == 0 || !strings.HasPrefix(words[0], "--") || slices.Contains(words, "--") {
		return
	}
	name, _, _ := strings.Cut(words[0][2:], "=")
	if cmd.Flags().Lookup(name) != nil {
		fmt.Fprintf(env.Err, "carrel: warning: %s goes to %s; carrel's own flags stand before a --: carrel %s FLAG... -- ARG...\n", show.QuoteIf(words[0]), agent.Title, word)
	}
}

// offerNoPrompts tells a person, at an agent's first start in a project, that its
// questions can be left to the walls.
func offerNoPrompts(env *cmdenv.Env, p *decide.Decision, cmd *cobra.Command) {
	if !term.IsTerminal(int(os.Stdin.Fd())) || !show.IsTerminal(env.Err) || !p.OffersNoPrompts() {
		return
	}
	fmt.Fprintf(env.Err, "carrel: %s may ask before each command; `carrel %s --no-prompts --` starts it without its questions, the walls hold either way (agents.prompts_off in your configuration: always, or never)\n", p.Agent.Title, cmd.Name())
}
