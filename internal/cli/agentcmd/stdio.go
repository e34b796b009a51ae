package agentcmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/config"
	"carrel/internal/jsonapi"
	"carrel/internal/pathname"
	"carrel/internal/registry"
	"carrel/internal/statedir"

	"github.com/spf13/cobra"
)

func stdioCommand(env *cmdenv.Env) *cobra.Command {
	var o jsonapi.Options
	var permissions string
	var schema bool
	cmd := &cobra.Command{
		Use:   "stdio [flags]",
		Short: "Answer a program that speaks JSON Lines",
		Long: `Answers on standard input and output: one JSON object a line, requests in, responses
and events out; log lines go to standard error. A session is a workspace around the
working directories, which ends with this command. The protocol: docs/json-lines.md.
` + cmdline.PlainStatus,
		Example: `  carrel stdio --working-dir .
  carrel stdio --working-dir api --working-dir web \
    --undo-dir ~/.cache/my-client/undo
  carrel stdio --working-dir . --agent claude --permissions ceiling.json
  carrel stdio --working-dir . --backend vm --memory-mb 512 --cpus 1
  printf '%s\n' '{"type":"session.start","request_id":"1"}' \
    '{"type":"agent.execute","request_id":"2","payload":{"command":"make"}}' |
    carrel stdio --working-dir .`,
		Args: cmdline.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if schema {
				text, err := jsonapi.SchemaText()
				if err == nil {
					_, err = env.Out.Write(text)
				}
				return err
			}
			return serveStdio(env, cmd, o, permissions)
		},
	}
	fs := cmd.Flags()
	fs.StringArrayVar(&o.Directories, "working-dir", nil, "a directory of sessions that name none; the first is the project, further ones may be changed too")
	fs.StringVar(&o.UndoDir, "undo-dir", "", "keep the history here, for this client alone (default: where the histories of your projects are)")
	fs.StringVar(&o.Agent, "agent", "", "give sessions what an agent needs, and let agent.prompt ask it: claude, codex, gemini, ...")
	fs.StringVar(&o.Backend, "backend", "", "process (default); container, lima or vm, with the image of your configuration; gvisor; "+
		"or none: no walls, commands do what you may; the history is kept all the same")
	for _, f := range o.Start.VM.Flags() {
		fs.Var(f, f.Name, f.Usage)
	}
	fs.StringVar(&o.Start.Network, "network", "", "closed, local, filtered or open: of sessions that say nothing")
	fs.StringArrayVar(&o.Start.Hosts, "allow-host", nil, "sessions reach this host, as with carrel run")
	fs.StringArrayVar(&o.Start.Read, "read", nil, "sessions see this file or directory too, read-only")
	fs.StringVar(&permissions, "permissions", "", "ceiling file, read once: the most that anything asked for here gets")
	fs.BoolVar(&schema, "schema", false, "print the JSON Schema of the protocol, and end")
	cmdline.NotEmpty(cmd, "backend", "undo-dir", "agent", "network", "permissions", "working-dir", "read")
	return cmd
}

// undoDir makes the place of a client's own history. It is a directory of its own in what
// was named, as it is for its owner alone and the other need not be.
func undoDir(named string, working []string) (string, error) {
	for _, dir := range working {
		if pathname.Within(named, dir) {
			return "", inWorking(named, dir)
		}
	}
	if err := os.MkdirAll(named, 0o700); err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(named)
	if err != nil {
		return "", err
	}
	for _, dir := range working { // where links lead, too
		if at, err := filepath.EvalSymlinks(dir); err == nil && pathname.Within(real, at) {
			return "", inWorking(named, dir)
		}
	}
	dir := filepath.Join(real, "carrel")
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return dir, nil
}

func inWorking(named, dir string) error {
	return fmt.Errorf("%q lies in the working directory %q: commands must not reach the history", named, dir)
}

func serveStdio(env *cmdenv.Env, cmd *cobra.Command, o jsonapi.Options, permissions string) error {
	_ = env.Caller().ByAgent() // what the client starts from now on is no person
	if env.Caller().Inside() {
		return fmt.Errorf("this is inside a workspace, where no other one can be started\nhint: run it outside")
	}
	var err error
	if o.Directories, err = absoluteAll(o.Directories); err != nil {
		return err
	}
	under, err := frozenCeiling(env, permissions)
	if err != nil {
		return err
	}
	o.Ceiling = under.Hash
	unset := []string{}
	if under.Hash != "" {
		unset = config.CeilingVariables()
	}
	if o.UndoDir != "" {
		if o.UndoDir, err = filepath.Abs(o.UndoDir); err != nil {
			return err
		}
		unset = append(unset, config.VarHistoryDir)
	}
	o.Caller = env.Caller()
	o.Caller.Notice = nil
	o.Caller.Environ = slices.DeleteFunc(slices.Clone(env.Environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(unset, name)
	})
	if o.UndoDir != "" {
		if o.UndoDir, err = undoDir(o.UndoDir, o.Directories); err != nil {
			return fmt.Errorf("--undo-dir: %w", err)
		}
		o.Caller.Environ = append(o.Caller.Environ, config.VarHistoryDir+"="+o.UndoDir)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a client that has gone is an error of writing; what is started has it as usual
	o.State = statedir.Path(env.Getenv)
	o.Registry, o.Log = registry.Dirs(env.Getenv("XDG_RUNTIME_DIR"), o.State), env.Err
	s, err := jsonapi.New(o)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err = s.Serve(ctx, os.Stdin, os.Stdout, jsonapi.HungUp(os.Stdout))
	if ctx.Err() != nil {
		return nil
	}
	return err
}
