package agentcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/config"
	"carrel/internal/decide"
	"carrel/internal/explain"
	"carrel/internal/mcpserver"
	"carrel/internal/named"
	"carrel/internal/registry"
	"carrel/internal/statedir"
	"carrel/internal/taskplan"

	"github.com/spf13/cobra"
)

func mcpCommand(env *cmdenv.Env) *cobra.Command {
	var o mcpserver.Options
	var profile, display, listen, tokenFile, permissions, client string
	var read, write []string
	cmd := &cobra.Command{
		Use:   "mcp [flags]",
		Short: "Answer an agent that speaks the Model Context Protocol",
		Long: `Answers on standard input and output, for a client that starts this command. It
offers tools for files and commands with undo, workspaces, their hidden desktops,
profiles and control. What they do happens in a workspace of the current project:
one of its own, which ends with the client, or with --workspace one that stays.
` + cmdline.PlainStatus,
		Example: `  carrel mcp
  carrel mcp --toolsets files,control
  carrel mcp --permissions ceiling.json --headless
  claude mcp add carrel -- carrel mcp`,
		Args: cmdline.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Start.Profile = profile
			switch display {
			case "virtual", "":
				o.Display = profile == "" || display != ""
			case "none":
				o.Start.Display = display
			default:
				return fmt.Errorf("--display %q: virtual or none", display)
			}
			if tokenFile != "" && listen == "" {
				return errors.New("--token-file is for --listen")
			}
			if listen != "" && !strings.HasPrefix(listen, "unix:") && tokenFile == "" {
				return fmt.Errorf("--listen %s needs --token-file FILE: any program of this machine reaches that port\nhint: a file that does not exist is made, with a random token", listen)
			}
			var err error
			if read, err = absoluteAll(read); err != nil {
				return err
			}
			if write, err = absoluteAll(write); err != nil {
				return err
			}
			o.Roots = write
			o.Start.Read, o.Start.Write = read, write
			if o.Ceiling, err = frozenCeiling(env, permissions); err != nil {
				return err
			}
			if client != "" {
				if listen != "" {
					return errors.New("--client is for a client that starts this command; with --listen there may be many")
				}
				host, err := agentHost(env)
				if err != nil {
					return err
				}
				lease, err := host.Serve(client)
				if err != nil {
					return err
				}
				defer lease.Release()
			}
			return serveMCP(env, cmd, o, listen, tokenFile)
		},
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&o.Sets, "toolsets", nil, "offer only these sets of tools: files, workspace, desktop, profiles, control, compat (default all but compat)")
	fs.StringVar(&o.Workspace, "workspace", "", "use this workspace, which stays (default one of its own)")
	fs.StringVar(&profile, "profile", "", "start the workspace from this profile")
	fs.StringVar(&display, "display", "", "virtual or none: of the workspace (default virtual)")
	fs.StringVar(&o.Start.Backend, "backend", "", "process (default); container, lima or vm, "+
		"with the image of your configuration; gvisor; or none")
	for _, f := range o.Start.VM.Flags() {
		fs.Var(f, f.Name, f.Usage)
	}
	fs.BoolVar(&o.Headless, "headless", false, "never show anything on this desktop")
	fs.StringVar(&permissions, "permissions", "", "ceiling file, read once: the most that anything asked for here gets")
	fs.StringArrayVar(&read, "read", nil, "the workspace sees this directory too")
	fs.StringArrayVar(&write, "write", nil, "the workspace may change this directory too")
	fs.StringVar(&listen, "listen", "", "answer over HTTP instead, at unix:PATH or 127.0.0.1:PORT")
	fs.StringVar(&tokenFile, "token-file", "", "with --listen: the token that clients have to send is in this file, which is made if it does not exist")
	fs.StringVar(&client, "client", "", "the agent that starts this, as carrel agent setup registers it")
	cmdline.NotEmpty(cmd, "backend", "client", "workspace", "profile", "display", "listen", "token-file", "permissions")
	return cmd
}

func serveMCP(env *cmdenv.Env, cmd *cobra.Command, o mcpserver.Options, listen, tokenFile string) error {
	_ = env.Caller().ByAgent() // what the client starts from now on is no person
	var err error
	if o.Workspace != "" {
		if err := named.CheckName(o.Workspace); err != nil {
			return err
		}
	}
	if o.Project, err = env.Caller().ProjectOf(""); err != nil {
		return err
	}
	o.Environ, o.Log, o.Version = env.Environ, env.Err, cmdenv.Version()
	o.State = statedir.Path(env.Getenv)
	o.Registry = registry.Dirs(env.Getenv("XDG_RUNTIME_DIR"), o.State)
	if o.Ceiling.Hash != "" {
		o.Environ = slices.DeleteFunc(slices.Clone(o.Environ), func(v string) bool {
			name, _, _ := strings.Cut(v, "=")
			return slices.Contains(config.CeilingVariables(), name)
		})
	}
	o.Caller = env.Caller().At(o.Project)
	o.Caller.Environ, o.Caller.Notice = o.Environ, nil
	s, err := mcpserver.New(o)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if listen != "" {
		return serveHTTP(ctx, env, s, listen, tokenFile)
	}
	err = s.Serve(ctx, os.Stdin, os.Stdout)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

func serveHTTP(ctx context.Context, env *cmdenv.Env, s *mcpserver.Server, listen, tokenFile string) error {
	token := ""
	if tokenFile != "" {
		var err error
		if token, err = tokenFrom(tokenFile); err != nil {
			return err
		}
	}
	l, err := listenMCP(listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Err, "carrel: MCP over HTTP at %s\n", l.Addr())
	return s.ServeHTTP(ctx, l, token)
}

// frozenCeiling is what the server is held to for its life, as it is read now.
func frozenCeiling(env *cmdenv.Env, flag string) (c mcpserver.Ceiling, err error) {
	texts, err := env.Ceilings(flag)
	if err != nil {
		return c, err
	}
	loaded, _, err := decide.ReadSettings(decide.Request{Environ: env.Environ, Ceilings: texts})
	if err != nil {
		return c, err
	}
	shown, err := explain.CeilingsOf(texts, loaded.Layers, env.Getenv("HOME"))
	if err != nil {
		return c, err
	}
	c.Shown = taskplan.Permissions{Configured: shown.Configured, Restricted: shown.Restricted, Source: string(shown.Source), Hash: shown.Hash}
	for _, one := range shown.All {
		for _, l := range one.Dimensions {
			if l.Limited {
				c.Shown.Dimensions = append(c.Shown.Dimensions, taskplan.Dimension{Name: l.Dimension, Value: string(l.Value)})
			}
		}
	}
	for _, advice := range shown.Advisories {
		c.Shown.Advisories = append(c.Shown.Advisories, string(advice.Message))
	}
	if shown.Configured {
		c.Hash = shown.Hash
	}
	return c, nil
}

// absoluteAll makes paths absolute, from where we are.
func absoluteAll(paths []string) ([]string, error) {
	out := make([]string, len(paths))
	for i, path := range paths {
		var err error
		if out[i], err = filepath.Abs(path); err != nil {
			return nil, err
		}
	}
	return out, nil
}
