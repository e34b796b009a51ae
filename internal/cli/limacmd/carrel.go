package limacmd

import (
	"context"
	"errors"
	"fmt"
	"os"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/config"
	"carrel/internal/lima"
	"carrel/internal/machine"
	"carrel/internal/machine/linuxcarrel"
	"carrel/internal/statedir"

	"github.com/spf13/cobra"
)

func carrelCommand(env *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "carrel COMMAND [ARG...]",
		Short: "Have Carrel's own program do a command line in a machine of this project",
		Long: `Does a command line of carrel in a machine where Carrel's program for Linux works, and which
has this project by a mount of limactl's. The machine is made the first time. Walls, the
history, the desktop and the homes of agents are the machine's: carrel lima carrel undo takes
back what carrel lima carrel run did. Your configuration counts there, but for backend and
lima.

Where Carrel has no walls, as on macOS, "backend: lima" in your configuration has each command
that needs them done so, without these two words.
` + cmdline.CommandStatus,
		Example: "  carrel lima carrel run -- make\n  carrel lima carrel undo\n  carrel lima carrel shell",
		// The flags are those of the command line.
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
				return cmd.Help()
			}
			if linuxcarrel.Here(args) {
				return errors.New("a command of carrel is missing that a machine can do\nhint: carrel lima carrel run -- make")
			}
			opts := env.ConfigOptions()
			loaded, err := config.Load(opts)
			if err != nil {
				return err
			}
			return inside(cmd, env, loaded, opts, args)
		},
	}
}

// inside has the machine of the project do a command line.
func inside(cmd *cobra.Command, env *cmdenv.Env, loaded *config.Loaded, opts config.Options, args []string) error {
	ctx, stop := interruptible(cmd)
	defer stop()
	p, err := find(ctx, env, "lima carrel")
	if err != nil {
		return err
	}
	if opts.Project == "" {
		return errors.New("there is no project here\nhint: work in the directory of a project")
	}
	p.Tell = func(text string) { fmt.Fprintln(env.Err, "carrel: "+text) }
	call := &linuxcarrel.Call{
		Args: args, Project: opts.Project, Cwd: opts.Cwd, ID: statedir.ProjectID(opts.Project),
		Settings: &loaded.Settings.Lima, Files: loaded.Files, In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
	}
	env.Status, err = call.Do(ctx, p)
	return err
}

// recreateInside makes the machine of this project anew where Carrel works.
func recreateInside(ctx context.Context, env *cmdenv.Env, p *lima.Program) (*lima.Machine, error) {
	opts := env.ConfigOptions()
	loaded, err := config.Load(opts)
	if err != nil {
		return nil, err
	}
	spec, err := machine.SpecInside(&loaded.Settings.Lima, opts.Project, statedir.ProjectID(opts.Project))
	if err != nil {
		return nil, err
	}
	return p.Recreate(ctx, spec)
}
