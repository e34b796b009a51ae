package agentcmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/clients"
	"carrel/internal/cmdline"
	"carrel/internal/pathname"
	"carrel/internal/sandbox"
	"carrel/internal/show"
	"carrel/internal/stepview"

	"carrel/internal/statedir"
	"github.com/spf13/cobra"
)

// maxCall bounds what a client tells its hooks of a call, in bytes.
const maxCall = 64 << 20

func clientsCommand(env *cmdenv.Env) *cobra.Command {
	return cmdline.Group(&cobra.Command{
		Use:   "agent",
		Short: "Make carrel known to the agents that you use, and take it away again",
		Long: `Puts carrel into the settings of your agents: its MCP server, step hooks and a
short skill, and if wanted a block of the agent's own file and shell tools.
Agents: ` + strings.Join(clients.Names(), ", ") + `.
` + cmdline.PlainStatus,
		Example: `  carrel agent setup claude
  carrel agent setup --block-builtin --while-serving
  carrel agent status
  carrel agent remove claude`,
	}, agentSetupCommand(env), agentRemoveCommand(env), agentStatusCommand(env), agentHealCommand(env), agentGateCommand(env))
}

// agentFlags are those of setup and remove.
type agentFlags struct {
	scope, name, permissions string
	block, serving           bool
	dry, asJSON              bool
}

func agentSetupCommand(env *cmdenv.Env) *cobra.Command {
	var f agentFlags
	cmd := agentEditCommand(env, clients.Setup, &f, &cobra.Command{
		Use:   "setup [flags] [AGENT...]",
		Short: "Put carrel into the settings of agents",
		Long: `Registers carrel's MCP server with the agents that are named, or with all that
you have used, installs step hooks and a skill. Your own entries, comments and
the order of keys stay byte for byte; a second time changes nothing, and another
choice of flags replaces the first. A file that cannot be parsed, is not your own,
or changes all the time is left alone, and then nothing is written at all.

--block-builtin keeps the agent from its own file and shell tools, which work
outside the walls; with --while-serving only as long as carrel mcp serves it.
` + cmdline.PlainStatus,
		Example: `  carrel agent setup
  carrel agent setup claude --permissions ~/ceiling.json
  carrel agent setup claude codex --block-builtin
  carrel agent setup gemini --block-builtin --while-serving
  carrel agent setup claude --scope project --dry-run`,
	})
	cmd.Flags().StringVar(&f.permissions, "permissions", "", "ceiling file: the most that the agent can ask for over MCP")
	cmd.Flags().BoolVar(&f.block, "block-builtin", false, "keep the agent from its own file and shell tools")
	cmd.Flags().BoolVar(&f.serving, "while-serving", false, "block them, but only while carrel mcp serves the agent")
	cmdline.NotEmpty(cmd, "permissions")
	return cmd
}

func agentRemoveCommand(env *cmdenv.Env) *cobra.Command {
	var f agentFlags
	return agentEditCommand(env, clients.Remove, &f, &cobra.Command{
		Use:   "remove [flags] [AGENT...]",
		Short: "Take carrel out of the settings of agents",
		Long: `Takes out what carrel agent setup put in, of the agents that are named or of all.
Where a file was not edited since, it is byte for byte what it was before; files
and directories that setup made go when they hold nothing else.
` + cmdline.PlainStatus,
		Example: `  carrel agent remove
  carrel agent remove --dry-run codex
  carrel agent remove claude --scope project`,
	})
}

func agentEditCommand(env *cmdenv.Env, op clients.Operation, f *agentFlags, cmd *cobra.Command) *cobra.Command {
	cmd.RunE = func(_ *cobra.Command, names []string) error {
		if err := agentOutside(env); err != nil {
			return err
		}
		return editAgents(env, op, names, f)
	}
	fs := cmd.Flags()
	fs.StringVar(&f.scope, "scope", "user", "user or project: whose settings")
	fs.StringVar(&f.name, "name", clients.DefaultName, "name of the MCP server in the agent's settings")
	fs.BoolVar(&f.dry, "dry-run", false, "show what would change, and change nothing")
	fs.BoolVar(&f.asJSON, "json", false, "print as JSON, one list")
	cmd.ValidArgsFunction = completeAgents
	cmdline.NotEmpty(cmd, "name")
	return cmd
}

func agentStatusCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status [flags] [AGENT...]",
		Short: "Tell what of carrel is in the settings of agents",
		Long: `Tells for your settings and those of this project whether carrel's MCP server is
registered, and whether the agent's own tools are blocked. It tells whether step
hooks and the skill are there, how many servers serve the agent now, and what is
out of order.
` + cmdline.PlainStatus,
		Example: `  carrel agent status
  carrel agent status --json claude`,
		RunE: func(_ *cobra.Command, names []string) error { return agentStatus(env, names, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON, one list")
	cmd.ValidArgsFunction = completeAgents
	return cmd
}

func agentHealCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "heal [flags]",
		Short: "Repair what is out of order in the settings of agents",
		Long: `Finishes a setup or remove that was interrupted, and makes entries of an earlier
install those of this carrel. It removes entries whose program is gone, and what
servers have left that were killed. It says what it did.
` + cmdline.PlainStatus,
		Example: `  carrel agent heal
  carrel agent heal --json`,
		Args: cmdline.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := agentOutside(env); err != nil {
				return err
			}
			host, err := agentHost(env)
			if err != nil {
				return err
			}
			if err := programIsSafe(env, host); err != nil {
				return err
			}
			did, err := host.Heal()
			if asJSON {
				return errors.Join(err, show.JSON(env.Out, struct {
					Did []api.Text `json:"did"`
				}{show.Texts(did)}))
			}
			for _, line := range did {
				fmt.Fprintln(env.Out, show.OneLine(line))
			}
			if len(did) == 0 && err == nil {
				fmt.Fprintln(env.Out, "nothing to do")
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// agentGateCommand is what the hooks of agents run.
func agentGateCommand(env *cmdenv.Env) *cobra.Command {
	var always bool
	cmd := &cobra.Command{
		Use:    "gate [flags] AGENT",
		Short:  "Tell an agent whether it may use one of its own tools now",
		Hidden: true,
		Long: `Reads what the agent tells of a tool call on standard input. Agents run it as a
hook; it is not for people.

Exit status:
  0    it may
  2    it may not, standard error says why`,
		Example: `  echo '{"tool_name":"Bash"}' | carrel agent gate claude`,
		RunE: func(_ *cobra.Command, names []string) error {
			if env.Caller().Inside() {
				return nil // the walls are around it
			}
			_ = env.Caller().ByAgent() // what the agent starts from now on is no person
			why, err := askGate(env, names, always)
			if err != nil {
				why = "carrel cannot tell whether this tool may be used: " + err.Error()
			}
			if why != "" {
				fmt.Fprintln(env.Err, show.OneLine(why))
				env.Status = 2
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&always, "always", false, "refuse whether carrel serves the agent or not")
	return cmd
}

func askGate(env *cmdenv.Env, names []string, always bool) (string, error) {
	if len(names) != 1 {
		return "", errors.New("want the name of one agent")
	}
	event, err := io.ReadAll(io.LimitReader(env.In, maxCall))
	if err != nil {
		return "", err
	}
	host, err := agentHost(env)
	if err != nil {
		return "", err
	}
	return host.Refuses(names[0], always, event)
}

func completeAgents(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return slices.DeleteFunc(clients.Names(), func(name string) bool { return slices.Contains(args, name) }), cobra.ShellCompDirectiveNoFileComp
}

func agentOutside(env *cmdenv.Env) error {
	if env.Caller().Inside() {
		return errors.New("this is inside a workspace, where an agent's settings are a copy that is forgotten\nhint: run it outside")
	}
	return nil
}

func agentHost(env *cmdenv.Env) (clients.Host, error) {
	home := env.Getenv("HOME")
	state := statedir.Path(env.Getenv)
	if !filepath.IsAbs(home) || !filepath.IsAbs(state) {
		return clients.Host{}, fmt.Errorf("HOME is %q, want an absolute path", home)
	}
	h := clients.Host{Home: home, Getenv: env.Getenv, State: filepath.Join(state, "clients"), Inside: sandbox.SelfPath}
	var err error
	if h.Program, err = ownProgram(env); err != nil {
		return h, err
	}
	h.Project, _ = env.Caller().ProjectOf("") // none where there is none
	return h, nil
}

// ownProgram is the path that this program was started by, if that is it: a link
// that leads to the newest version stays one.
func ownProgram(env *cmdenv.Env) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	is, err := os.Stat(self)
	if err != nil {
		return "", fmt.Errorf("this program is not where it was started from any more: %w", err)
	}
	var candidates []string
	if strings.Contains(os.Args[0], "/") {
		if path, err := filepath.Abs(os.Args[0]); err == nil {
			candidates = append(candidates, path)
		}
	} else {
		for _, dir := range filepath.SplitList(env.Getenv("PATH")) {
			if filepath.IsAbs(dir) {
				candidates = append(candidates, filepath.Join(dir, os.Args[0]))
			}
		}
	}
	for _, path := range candidates {
		if info, err := os.Stat(path); err == nil && os.SameFile(info, is) {
			return path, nil
		}
	}
	return self, nil
}

// serverName is what all four agents take as the name of a server.
var serverName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`) })

// programIsSafe refuses to register a program that lies in a project, this one or any
// other: an agent could replace it.
func programIsSafe(env *cmdenv.Env, h clients.Host) error {
	dir := filepath.Dir(h.Program)
	at, err := env.Caller().ProjectOf(dir)
	if err == nil {
		if _, git := os.Lstat(filepath.Join(at, ".git")); git != nil && !(h.Project != "" && pathname.Within(h.Program, h.Project)) {
			return nil
		}
	}
	if h.Project != "" && pathname.Within(h.Program, h.Project) {
		at = h.Project
	}
	return fmt.Errorf("%s lies in the project %s, where an agent could replace it\nhint: install it elsewhere", h.Program, at)
}

// agentRequests are what flags and names ask for.
func agentRequests(env *cmdenv.Env, op clients.Operation, h clients.Host, names []string, f *agentFlags) ([]clients.Request, error) {
	r := clients.Request{Scope: clients.Scope(f.scope), Name: f.name, Block: f.block && !f.serving, Serving: f.serving}
	switch {
	case r.Scope != clients.User && r.Scope != clients.Project:
		return nil, fmt.Errorf("--scope %q: user or project", f.scope)
	case !serverName().MatchString(f.name):
		return nil, fmt.Errorf("--name %q: small letters, digits and hyphens, a letter first, at most 32", f.name)
	case r.Scope == clients.Project && h.Project == "":
		return nil, errors.New("--scope project: this is no project\nhint: cd into one")
	case r.Scope == clients.Project && h.Project == h.Home:
		return nil, errors.New("--scope project: this is your home directory, where these are your own settings\nhint: leave --scope away, or cd into a project")
	case r.Scope == clients.Project:
		r.Project = h.Project
	}
	if f.permissions != "" {
		if _, err := frozenCeiling(env, f.permissions); err != nil {
			return nil, err
		}
		path, err := filepath.Abs(f.permissions)
		if err != nil {
			return nil, err
		}
		r.Permissions = path
	}
	if op == clients.Setup {
		if err := programIsSafe(env, h); err != nil {
			return nil, err
		}
	}
	if !utf8.ValidString(h.Program + r.Permissions) {
		return nil, fmt.Errorf("%q or %q is no UTF-8, and cannot stand in the settings of agents", h.Program, r.Permissions)
	}
	if len(names) == 0 {
		names = clients.Names()
		if op == clients.Setup {
			names = slices.DeleteFunc(names, func(name string) bool { return !h.Present(name) })
		}
		if op == clients.Remove {
			reports, err := h.Status(names)
			if err != nil {
				return nil, err
			}
			var unread error
			names = slices.DeleteFunc(names, func(name string) bool { // nobody's reason to stop
				i := slices.IndexFunc(reports, func(o clients.Report) bool {
					return o.Client == name && o.Scope == r.Scope && o.Project == r.Project && o.Err != nil && !o.Ours()
				})
				if i >= 0 {
					unread = errors.Join(unread, reports[i].Err)
				}
				return i >= 0
			})
			if len(names) == 0 {
				return nil, fmt.Errorf("nothing of carrel's is known, and no agent's settings can be read: %w", unread)
			}
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("you have used none of the agents yet: %s\nhint: name one", strings.Join(clients.Names(), ", "))
		}
	}
	var out []clients.Request
	for _, name := range names {
		one := r
		one.Client = name
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out, nil
}

func editAgents(env *cmdenv.Env, op clients.Operation, names []string, f *agentFlags) error {
	host, err := agentHost(env)
	if err != nil {
		return err
	}
	requests, err := agentRequests(env, op, host, names, f)
	if err != nil {
		return err
	}
	results, err := host.Do(op, requests, f.dry)
	if err != nil {
		return err
	}
	if f.asJSON {
		return show.JSON(env.Out, agentEdits(results, f.dry))
	}
	for _, r := range results {
		printAgent(env, op, r, f.dry)
	}
	if op == clients.Setup && f.scope == "project" && !f.dry {
		fmt.Fprintln(env.Out, "note: these files are in the project: who gets it gets them, and what works in it reads them; nothing in them is secret")
	}
	return nil
}

// agentEditJSON is what is printed of one agent.
type agentEditJSON struct {
	Agent   string        `json:"agent"`
	Scope   clients.Scope `json:"scope"`
	Changed []api.Text    `json:"changed"` // files that were written or removed; with --dry-run: would be
	Notes   []api.Text    `json:"notes"`
	Diff    api.Text      `json:"diff,omitempty"` // with --dry-run
}

func agentEdits(results []clients.Result, dry bool) []agentEditJSON {
	list := []agentEditJSON{}
	for _, r := range results {
		one := agentEditJSON{Agent: r.Client, Scope: r.Scope, Changed: []api.Text{}, Notes: show.Texts(r.Notes)}
		for _, e := range r.Files {
			one.Changed = append(one.Changed, api.Text(e.Path))
			if dry {
				one.Diff += api.Text(stepview.FileDiff(e.Path, e.Before, e.After))
			}
		}
		list = append(list, one)
	}
	return list
}

func printAgent(env *cmdenv.Env, op clients.Operation, r clients.Result, dry bool) {
	if len(r.Files) == 0 {
		fmt.Fprintf(env.Out, "%s: nothing to do\n", r.Client)
	}
	for _, e := range r.Files {
		what := "wrote"
		switch {
		case dry:
			stepview.PrintDiff(env.Out, stepview.FileDiff(e.Path, e.Before, e.After))
			continue
		case e.After == nil:
			what = "removed"
		case op == clients.Remove:
			what = "taken out of"
		}
		fmt.Fprintf(env.Out, "%s: %s %s\n", r.Client, what, show.OneLine(show.QuoteIf(e.Path)))
	}
	for _, n := range r.Notes {
		fmt.Fprintf(env.Out, "%s: note: %s\n", r.Client, show.OneLine(n))
	}
}
