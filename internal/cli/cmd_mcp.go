package cli

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"carrel/internal/mcpserver"
	"carrel/internal/supervisor"
	"carrel/internal/workspace"

	"github.com/spf13/cobra"
)

func (a *app) mcpCommand() *cobra.Command {
	var o mcpserver.Options
	var profile, display string
	cmd := &cobra.Command{
		Use:   "mcp [flags]",
		Short: "Answer an agent that speaks the Model Context Protocol",
		Long: `Answers on standard input and output, for a client that starts this command. It
offers tools for files and commands with undo, workspaces, their hidden desktops,
profiles and control. What they do happens in a workspace of the current project:
one of its own, which ends with the client, or with --workspace one that stays.
` + plainStatusHelp,
		Example: `  carrel mcp
  carrel mcp --toolsets files,control
  carrel --permissions ceiling.json mcp --headless
  claude mcp add carrel -- carrel mcp`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if profile != "" {
				o.Start = append(o.Start, "--profile="+profile)
			}
			switch display {
			case "virtual", "":
				o.Display = profile == "" || display != ""
			case "none":
				o.Start = append(o.Start, "--display=none")
			default:
				return fmt.Errorf("--display %q: virtual or none", display)
			}
			return a.serveMCP(cmd, o)
		},
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&o.Sets, "toolsets", nil, "offer only these sets of tools: files, workspace, desktop, profiles, control, compat (default all but compat)")
	fs.StringVar(&o.Workspace, "workspace", "", "use this workspace, which stays (default one of its own)")
	fs.StringVar(&profile, "profile", "", "start the workspace from this profile")
	fs.StringVar(&display, "display", "", "virtual or none: of the workspace (default virtual)")
	fs.BoolVar(&o.Headless, "headless", false, "never show anything on this desktop")
	notEmpty(cmd, "workspace", "profile", "display")
	return explainFlagErrors(cmd)
}

func (a *app) serveMCP(cmd *cobra.Command, o mcpserver.Options) error {
	var err error
	if o.Workspace != "" {
		if err := workspace.CheckDeskName(o.Workspace); err != nil {
			return err
		}
	}
	if o.Project, err = workspace.ProjectOf("", a.getenv); err != nil {
		return err
	}
	o.Program, o.Environ, o.Log, o.Version = "/proc/self/exe", a.environ, a.err, Version()
	o.Registry = supervisor.Dirs(a.getenv("XDG_RUNTIME_DIR"), workspace.StatePath(a.getenv))
	s, err := mcpserver.New(o)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err = s.Serve(ctx, os.Stdin, os.Stdout)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}
