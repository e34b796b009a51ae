package decisioncmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"carrel/internal/api"
	"carrel/internal/apiview"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/target"
	"carrel/internal/cmdline"
	"carrel/internal/config"
	"carrel/internal/decide"
	"carrel/internal/show"
	"carrel/internal/statedir"
	"carrel/internal/supervisor"

	"github.com/spf13/cobra"
)

func netCommand(env *cmdenv.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "net COMMAND",
		Short: "See what reached the network, and change it while it runs",
		Long: `What the workspaces with a filtered network reached or wanted to reach, and
changes of their lists of hosts while they run.
` + cmdline.PlainStatus,
		Example: `  carrel net log --follow
  carrel net allow registry.example.com
  carrel net deny '**.example.net' 3f`,
	}
	return cmdline.Group(cmd, netLogCommand(env), netHostCommand(env, true), netHostCommand(env, false))
}

type netLogFlags struct {
	logFlags
	follow bool
}

func netLogCommand(env *cmdenv.Env) *cobra.Command {
	f := &netLogFlags{}
	cmd := &cobra.Command{
		Use:   "log [flags] [WORKSPACE]",
		Short: "List connections: when, who, where, how much, by which rule",
		Long: `Lists the attempts to reach something over the network, oldest first, of the
current project or of one workspace: WORKSPACE is its id or the beginning of it,
also after it has ended. A connection is listed when it has ended, or at once
when it was refused. With --follow it goes on with what comes, until it is
interrupted.
` + cmdline.PlainStatus,
		Example: `  carrel net log -n 20
  carrel net log --follow 3f2a91c0
  carrel net log --all --since 24h --json`,
		Args: mostOneArg("a workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return netLog(env, cmd, f, strings.Join(args, ""))
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	cmd.Flags().StringVar(&f.project, "project", "", "those of the project that holds this directory")
	cmd.Flags().BoolVar(&f.all, "all", false, "those of all projects")
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on with what comes")
	cmdline.OneOf(cmd, "project", "all")
	f.register(cmd)
	cmd.Flags().Lookup("json").Usage = "print as JSON: one list, or one object a line with --follow"
	return cmd
}

// mostOneArg wants one argument or none.
func mostOneArg(what string) cobra.PositionalArgs {
	one := cmdline.OneArg(what)
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return one(cmd, args)
	}
}

func netLog(env *cmdenv.Env, cmd *cobra.Command, f *netLogFlags, id string) error {
	start, err := f.start(cmd)
	if err != nil {
		return err
	}
	at, err := decide.Locate(f.project, env.Getenv("HOME"))
	if err != nil && !f.all && id == "" {
		return err
	}
	keep := func(c *api.Connection) bool {
		switch {
		case c.Time.Add(c.Duration).Before(start):
			return false
		case id != "":
			return strings.HasPrefix(c.Workspace, id)
		}
		return f.all || c.Project == at.Project
	}
	state := statedir.Path(env.Getenv)
	var after statedir.LogEnd
	if f.follow {
		after = statedir.EndOfConnections(state) // before reading: nothing is missed, and nothing told twice
	}
	list, broken, err := statedir.Connections(state, keep)
	if err != nil {
		return err
	}
	tellBroken(env, broken)
	if f.follow {
		for _, c := range newest(list, f.last) {
			if err := tellConnection(env, c, f.json); err != nil {
				return err
			}
		}
		return followConnections(cmd.Context(), env, state, after, keep, f.json)
	}
	list = newest(list, f.last)
	if f.json {
		return show.JSON(env.Out, show.NotNil(list))
	}
	if len(list) == 0 {
		fmt.Fprintln(env.Out, "no connections")
	}
	for _, c := range list {
		if err := tellConnection(env, c, false); err != nil {
			return err
		}
	}
	return nil
}

func followConnections(ctx context.Context, env *cmdenv.Env, state string, after statedir.LogEnd, keep func(*api.Connection) bool, asJSON bool) error {
	ctx, cancel := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer cancel()
	for {
		err := after.Each(state, func(c api.Connection) error {
			if !keep(&c) {
				return nil
			}
			return tellConnection(env, c, asJSON)
		})
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookAgain):
		}
	}
}

// tellConnection prints one line; every byte of it is escaped.
func tellConnection(env *cmdenv.Env, c api.Connection, asJSON bool) error {
	if asJSON {
		line, err := json.Marshal(c)
		if err == nil {
			_, err = fmt.Fprintf(env.Out, "%s\n", show.PlainJSON(line))
		}
		return err
	}
	_, err := fmt.Fprintln(env.Out, show.OneLine(apiview.ConnectionText(c)))
	return err
}

// netHostCommand is allow and deny: they differ in who may.
func netHostCommand(env *cmdenv.Env, allow bool) *cobra.Command {
	var save bool
	cmd := &cobra.Command{
		Use:   "allow HOST [WORKSPACE]",
		Short: "Let a running workspace reach a host",
		Long: `Adds a rule to the list of hosts of a workspace that runs, as long as it does:
name, *.name, **.name, address or range, each with an optional :port. The ceiling
holds. It takes a person at a terminal of their own, as ` + "`carrel approve`" + ` does.
WORKSPACE is an id of ` + "`carrel ps`" + ` or its beginning; it may be left out where one
workspace runs in the current project. With --save the rule is written into your
configuration too.
` + cmdline.PlainStatus,
		Example: `  carrel net allow registry.example.com
  carrel net allow '*.example.com:443' 3f --save`,
	}
	if !allow {
		cmd.Use, cmd.Short = "deny HOST [WORKSPACE]", "Keep a running workspace from a host"
		cmd.Long = `Denies a host to a workspace that runs, whatever else lists it, as long as it
runs: name, *.name, **.name, address or range, each with an optional :port. What is
open to it ends. WORKSPACE is an id of ` + "`carrel ps`" + ` or its beginning; it may be left
out where one workspace runs in the current project. With --save the rule is
written into your configuration too.
` + cmdline.PlainStatus
		cmd.Example = `  carrel net deny tracker.example.com
  carrel net deny '**.example.net' 3f --save`
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 || len(args) == 2 {
			return nil
		}
		return fmt.Errorf("%q takes a host and a workspace, got %q\nhint: %s", cmd.CommandPath(), args, cmdline.Usage(cmd))
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) != 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return target.CompleteWorkspace(env)(cmd, nil, word)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id := ""
		if len(args) > 1 {
			id = args[1]
		}
		e, err := workspaceHere(env, id)
		if err != nil {
			return err
		}
		if err := changeHost(cmd.Context(), env, e, allow, args[0]); err != nil {
			return err
		}
		if save {
			return saveHost(env, !allow, args[0])
		}
		return nil
	}
	cmd.Flags().BoolVar(&save, "save", false, "write the rule into your configuration too")
	return cmd
}

// workspaceHere is the workspace of a name, where none means the one of this project.
func workspaceHere(env *cmdenv.Env, prefix string) (supervisor.Entry, error) {
	if prefix != "" {
		return env.Caller().Named(prefix)
	}
	at, err := decide.Locate("", env.Getenv("HOME"))
	if err != nil {
		return supervisor.Entry{}, err
	}
	entries, err := env.Caller().Running()
	if err != nil {
		return supervisor.Entry{}, err
	}
	var here []supervisor.Entry
	for _, e := range entries {
		if e.Project == at.Project {
			here = append(here, e)
		}
	}
	if len(here) != 1 {
		return supervisor.Entry{}, fmt.Errorf("%s in this project\nhint: name one of `carrel ps`", show.Count(len(here), "workspace runs", "workspaces run"))
	}
	return here[0], nil
}

// changeHost asks the person at the terminal where more is reached afterwards.
func changeHost(ctx context.Context, env *cmdenv.Env, e supervisor.Entry, allow bool, host string) error {
	req := api.Request{Op: api.OpNetDeny, Host: host}
	done := "denied"
	if allow {
		req.Op, done = api.OpNetAllow, "allowed"
		if err := personAllows(ctx, e, host); err != nil {
			return err
		}
	}
	if _, err := e.Ask(ctx, req); err != nil {
		return err
	}
	fmt.Fprintf(env.Out, "%s %s in %s, as long as it runs\n", done, show.OneLine(show.QuoteIf(host)), e.ID)
	return nil
}

// personAllows wants the workspace's id typed. The supervisor looks at us first,
// so that nobody types for nothing; it looks again at the end.
func personAllows(ctx context.Context, e supervisor.Entry, host string) error {
	if _, err := e.Ask(ctx, api.Request{Op: api.OpNetAllow, Host: host, Check: true}); err != nil {
		return err
	}
	t := &show.Table{}
	t.Row("host", show.QuoteIf(host))
	t.Row("run", e.ID+", "+show.Shorten(strings.Join(e.Argv, " "), show.ColumnMax))
	t.Row("project", show.QuoteIf(e.Project))
	var text strings.Builder
	t.Print(&text, "  ")
	fmt.Fprintf(&text, "Type %s to let this workspace reach it, anything else to leave it: ", e.ID)
	typed, err := supervisor.Confirm(text.String(), e.ID)
	if err == nil && !typed {
		err = errors.New("that is not the id; nothing was changed")
	}
	return err
}

// saveHost writes a rule into the user's configuration.
func saveHost(env *cmdenv.Env, deny bool, rule string) error {
	file, err := userFile(env)
	if err != nil {
		return err
	}
	if err := config.AddHost(file, deny, rule); err != nil {
		return err
	}
	fmt.Fprintf(env.Out, "%s is in %s\n", show.OneLine(show.QuoteIf(rule)), show.OneLine(show.QuoteIf(file)))
	return nil
}

// userFile is the path of the user's configuration.
func userFile(env *cmdenv.Env) (string, error) {
	file := config.UserFile(env.ConfigOptions())
	if file == "" {
		return "", errors.New("there is no place for your configuration: neither XDG_CONFIG_HOME nor HOME is an absolute path")
	}
	return file, nil
}
