// Package cli is the command line: one file per command. It turns flags into
// requests and prints results; it has no logic of its own. What is allowed is
// decided in package policy, what is done is done by package workspace.
//
// Exit statuses follow docker(1) and env(1): 125 when carrel itself refuses or
// goes wrong, 126 when the command cannot be run, 127 when it is not found,
// 124 when its time is over, else the command's own.
package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/runcmd"
	"carrel/internal/clipboard"
	"carrel/internal/cmdline"
	"carrel/internal/fileops"
	"carrel/internal/hostexec/shim"
	"carrel/internal/inside"
	"carrel/internal/sandbox"
	"carrel/internal/sandbox/stage"
	"carrel/internal/show"
	"carrel/internal/tools"
	"carrel/internal/workspace"

	"github.com/spf13/cobra"
)

// Main runs the program with argv (argv[0] included) and returns its exit status.
func Main(argv []string) int {
	switch {
	case len(argv) > 0 && sandbox.IsStage(argv[0]):
		stage.Main()
	case len(argv) > 0 && shim.Name(argv[0]) != "":
		return shim.Main(shim.Name(argv[0]), argv[1:])
	case len(argv) > 0 && inside.IsHelper(argv[0]):
		return inside.Main(argv)
	case len(argv) > 0 && filepath.Base(argv[0]) == inside.FileHelper:
		return fileops.Main(argv, os.Stdin, os.Stdout, os.Stderr)
	case len(argv) == 2 && argv[0] == clipboard.HolderArg0:
		if clipboard.Hold(argv[1], os.Getenv) != nil {
			return api.ExitOurs
		}
		return 0
	}
	// Most runs end before a collection would pay.
	debug.SetGCPercent(400)
	a := &app{&cmdenv.Env{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ()}}
	args := argv[min(1, len(argv)):]
	if len(argv) > 0 && filepath.Base(argv[0]) == runcmd.SandboxArg0 {
		args = append([]string{"sandbox"}, args...)
	}
	a.ForProgram = len(argv) > 0 && argv[0] == tools.Arg0
	var err error
	if args, err = a.CutCeiling(args); err != nil {
		return a.fail(err)
	}
	a.Args, a.Supervises = args, len(argv) > 0 && workspace.IsDesk(argv[0])
	root := a.root(args)
	root.SetArgs(args)
	if err := root.Execute(); err != nil {
		return a.fail(err)
	}
	return a.Status
}

// app makes the commands of one start of the program.
type app struct{ *cmdenv.Env }

// fail prints an error and gives its exit status.
func (a *app) fail(err error) int {
	status := api.ExitOurs
	var e *cmdenv.ExitError
	if errors.As(err, &e) {
		status = e.Status
	}
	if a.ForProgram {
		line, _ := json.Marshal(problemOf(err))
		fmt.Fprintf(a.Err, "%s\n", line)
		return status
	}
	fmt.Fprintf(a.Err, "carrel: %s\n", show.Escape(err.Error()))
	return status
}

// problemOf is an error for a program: a refusal as it is, and anything else as one that
// has no more to say than its text.
func problemOf(err error) *api.Denial {
	var d *api.Denial
	if errors.As(err, &d) {
		return d
	}
	if d = workspace.CeilingDenial("start", err); d != nil {
		return d
	}
	message, hint, _ := strings.Cut(err.Error(), "\nhint: ")
	return &api.Denial{Code: tools.CodeFailed, Message: message, Hint: hint}
}

// root makes the program's commands, as many as these arguments need.
func (a *app) root(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:           "carrel",
		Short:         "Run AI coding agents, or any command, behind walls",
		SilenceErrors: true,
		SilenceUsage:  true,
		Long: `carrel gives a command a private desk on this machine: it sees the project and
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
		if !a.NamedCeiling() {
			return nil
		}
		_, err := a.Session() // a ceiling that cannot be read lets nothing start
		return err
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.CompletionOptions.HiddenDefaultCmd = false
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	root.AddCommand(a.commands(name)...)
	root.ValidArgs = agentWords()
	return root
}
