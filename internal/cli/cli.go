// Package cli is what main calls: it picks the face of the program by argv[0], joins the groups
// of commands, and turns errors into messages and exit statuses. It finds out which of its faces
// is wanted, and puts the tree of commands together from the packages below it. It turns an
// error into a message and an exit status. Each group of commands is a package of its own, with
// a table of what it has; what all of them are given is in package cmdenv.
//
// Exit statuses follow docker(1) and env(1): 125 when carrel itself refuses or goes wrong, 126
// when the command cannot be run, 127 when it is not found. It is 124 when its time is over,
// else the command's own.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/limacmd"
	"carrel/internal/cli/reviewcmd"
	"carrel/internal/cli/runcmd"
	"carrel/internal/clipboard"
	"carrel/internal/cmdline"
	"carrel/internal/fileops"
	"carrel/internal/hostexec/shim"
	"carrel/internal/inside"
	"carrel/internal/sandbox/stage"
	"carrel/internal/session"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

// Main runs the program with argv (argv[0] included) and returns its exit status.
func Main(argv []string) int {
	switch {
	case len(argv) > 0 && stage.Is(argv[0]):
		stage.Main()
	case len(argv) > 0 && shim.Name(argv[0]) != "":
		return shim.Main(shim.Name(argv[0]), argv[1:])
	case len(argv) > 0 && inside.IsHelper(argv[0]):
		return inside.Main(argv)
	case len(argv) > 0 && filepath.Base(argv[0]) == inside.FileHelper:
		return fileops.Main(argv, os.Stdin, os.Stdout, os.Stderr)
	case reviewcmd.Replays(argv):
		return reviewcmd.Replay()
	case len(argv) > 0 && argv[0] == session.DetachArg0:
		return session.Detach(argv[1:])
	case len(argv) == 2 && argv[0] == clipboard.HolderArg0:
		if clipboard.Hold(argv[1], os.Getenv) != nil {
			return api.ExitOurs
		}
		return 0
	}
	// Most runs end before a collection would pay.
	debug.SetGCPercent(400)
	out := show.NewOutput(os.Stdout)
	env := &cmdenv.Env{In: os.Stdin, Out: out, Err: os.Stderr, Environ: os.Environ()}
	args := argv[min(1, len(argv)):]
	if len(argv) > 0 && filepath.Base(argv[0]) == runcmd.SandboxArg0 {
		args = append([]string{"sandbox"}, args...)
	}
	var err error
	if args, err = env.CutCeiling(args); err != nil {
		return fail(env, err)
	}
	args = usualWords(args)
	env.Args, env.Supervises = args, len(argv) > 0 && session.IsDesk(argv[0])
	if done, err := limacmd.Instead(env, args); err != nil {
		return fail(env, err)
	} else if done {
		return env.Status
	}
	root := newRoot(env, args)
	root.SetArgs(args)
	if err := unknownCommand(root, args); err != nil {
		return fail(env, err)
	}
	if err := root.Execute(); err != nil {
		return fail(env, err)
	}
	if err := out.Err(); err != nil && env.Status == 0 {
		return fail(env, err)
	}
	return env.Status
}

// fail prints an error and gives its exit status.
func fail(env *cmdenv.Env, err error) int {
	status := api.ExitOurs
	var e *cmdenv.ExitError
	if errors.As(err, &e) {
		status = e.Status
	}
	what, hint, _ := strings.Cut(show.Escape(err.Error()), "\n")
	fmt.Fprintln(env.Err, env.Paint(env.Err).Red("carrel: "+what))
	if hint != "" {
		fmt.Fprintln(env.Err, hint)
	}
	return status
}

// newRoot makes the program's commands, as many as these arguments need.
func newRoot(env *cmdenv.Env, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:           "carrel",
		Short:         "Run AI coding agents, or any command, behind walls",
		SilenceErrors: true,
		SilenceUsage:  true,
		Long: `carrel gives a command a private workspace on this machine: it sees the project and
the tools it needs and no secrets, and everything else is out of its reach.

carrel AGENT [ARG...] starts an agent that it knows, with its own settings and login:
claude, codex, gemini, opencode, pi, aider, amp, copilot, goose and others; see
carrel help claude.

carrel --permissions FILE COMMAND holds a command, whichever it is, to a ceiling; see
carrel permissions.`,
		Example: `  carrel claude
  carrel run -- make
  carrel run --read ~/reference -- make test
  carrel shell
  carrel explain --path ~/.ssh/id_ed25519
  carrel --permissions ceiling.json start dev`,
	}
	root.Flags().String(strings.TrimPrefix(cmdline.PermissionsFlag, "--"), "", "before any command: a ceiling file, which all that the command does is held to")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if !env.NamedCeiling() {
			return nil
		}
		_, err := env.Caller().Session() // a ceiling that cannot be read lets nothing start
		return err
	}
	cmdline.ExplainFlagErrors(root)
	cmdline.Helps(root, func(w io.Writer, s string) string { return env.Paint(w).Bold(s) })
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	root.CompletionOptions.HiddenDefaultCmd = false
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	root.AddCommand(commands(env, name)...)
	grouped(root)
	root.SetHelpCommandGroupID(groups[0].title)
	root.SetCompletionCommandGroupID(groups[len(groups)-1].title)
	root.ValidArgs = agentWords()
	return root
}
