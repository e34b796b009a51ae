package namedcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/target"
	"carrel/internal/cmdline"
	"carrel/internal/inside"
	"carrel/internal/op"
	"carrel/internal/show"
	"carrel/internal/supervisor"

	"github.com/spf13/cobra"
)

func pauseCommand(env *cmdenv.Env) *cobra.Command {
	return holdCommand(env, api.OpPause, "Stop every process of a workspace for a while",
		`Freezes all processes of a running workspace; nothing in it runs until it is
resumed. Processes that had been stopped already stay so after that. A time
limit (--timeout) goes on. WORKSPACE is a name, or an
id of `+"`carrel ps`"+` or its beginning.

--project is about all workspaces of a project, with names or without: each stands still,
and nothing is started in the project. Any program may ask for that; only a person ends it.
`, "paused")
}

func resumeCommand(env *cmdenv.Env) *cobra.Command {
	return holdCommand(env, api.OpResume, "Let a paused workspace go on",
		`Lets go on what `+"`carrel pause`"+` has stopped, and nothing else. One
that stays takes a person at a terminal for that. WORKSPACE is a name, or an id of
`+"`carrel ps`"+` or its beginning.

--project ends the pause of a project: a person types its name at a terminal.
`, "resumed")
}

func holdCommand(env *cmdenv.Env, operation, short, long, done string) *cobra.Command {
	var asJSON, project bool
	var reason string
	one := cmdline.OneArg("a workspace")
	cmd := &cobra.Command{
		Use: operation + " WORKSPACE|--project [DIR]", Short: short, Long: long + cmdline.PlainStatus,
		Example: "  carrel " + operation + " 3f2a91c0\n  carrel " + operation + " --project\n  carrel " + operation + " --project ~/src/app",
		Args: func(cmd *cobra.Command, args []string) error {
			if project && len(args) == 0 {
				return nil
			}
			if err := one(cmd, args); err != nil {
				return err
			}
			if project && args[0] == "" {
				return errors.New("--project \"\": want a directory; without a word it is the working one")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if project {
				return holdProject(cmd.Context(), env, operation, strings.Join(args, ""), reason, asJSON)
			}
			if reason != "" {
				return fmt.Errorf("--reason is for --project\nhint: `carrel control NAME paused` takes one too")
			}
			e, err := env.Caller().Named(args[0])
			if err != nil {
				return err
			}
			if operation == api.OpResume && e.Name != "" {
				if err := confirmLooser(cmd.Context(), e, api.ControlActive); err != nil {
					return err
				}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), op.PauseTime)
			defer cancel()
			if _, err := e.Call(ctx, api.Request{Op: operation}); err != nil {
				return err
			}
			if asJSON {
				return show.JSON(env.Out, held{e.ID, e.Name, done})
			}
			fmt.Fprintf(env.Out, "%s %s\n", done, e.Called())
			return nil
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was done as JSON")
	cmd.Flags().BoolVar(&project, "project", false, "the whole project of the working directory, or of DIR")
	if operation == api.OpPause {
		cmd.Flags().StringVar(&reason, "reason", "", "with --project: say why; it is shown to those who are refused")
	}
	return cmd
}

// held is what pause, resume and stop print as JSON.
type held struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	Done string `json:"done"`
}

func stopCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "stop [WORKSPACE]",
		Short: "End a running workspace",
		Long: `Asks the command of a workspace to end, as SIGTERM does, and after five seconds
makes it; everything inside ends with it. What waits for approval is denied, and
a paused workspace goes on so that it can end in order. Returns when it has
ended. WORKSPACE is a name, or an id of ` + "`carrel ps`" + `, or its
beginning; inside a workspace that stays it may be left out.
` + cmdline.PlainStatus,
		Example: `  carrel stop 3f2a91c0
  carrel stop 3f`,
		Args: cmdline.AtMostOne("a workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if target.Inside(env) {
				return holdFromInside(env, inside.Stop, "stopping")
			}
			if len(args) == 0 {
				return fmt.Errorf("%q needs a workspace\nhint: `carrel ps` lists them", cmd.CommandPath())
			}
			e, err := env.Caller().Named(args[0])
			if err != nil {
				return err
			}
			if err := op.End(cmd.Context(), e); err != nil || !asJSON {
				return sayStopped(env, e, err)
			}
			return show.JSON(env.Out, held{e.ID, e.Name, "stopped"})
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was done as JSON")
	return cmd
}

func sayStopped(env *cmdenv.Env, e supervisor.Entry, err error) error {
	if err == nil {
		fmt.Fprintf(env.Out, "stopped %s\n", e.Called())
	}
	return err
}
