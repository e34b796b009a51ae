package agentcmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/hooks"
	"carrel/internal/sandbox"
	"carrel/internal/show"
	"carrel/internal/stepview"

	"github.com/spf13/cobra"
)

func hooksCommand(env *cmdenv.Env) *cobra.Command {
	return cmdline.Group(&cobra.Command{
		Use:   "hooks",
		Short: "Make an agent's tool calls steps of the history",
		Long: `Puts hooks into the settings of your agents, so that each of their tool calls
begins and ends a step of the history. The hooks do nothing and succeed where an
agent runs without carrel. Agents: ` + strings.Join(hooks.Names(), ", ") + `.
` + cmdline.PlainStatus,
		Example: `  carrel hooks status
  carrel hooks install --dry-run
  carrel hooks install claude
  carrel hooks remove`,
	}, hooksInstallCommand(env), hooksRemoveCommand(env), hooksStatusCommand(env))
}

func hooksInstallCommand(env *cmdenv.Env) *cobra.Command {
	return hooksEditCommand(env, hooks.Install, &cobra.Command{
		Use:   "install [flags] [AGENT...]",
		Short: "Put the hooks into the settings of agents",
		Long: `Adds hooks to the settings of the agents that are named, or of all that have a
settings directory. Your own hooks, comments and the order of keys stay byte for
byte; a second time changes nothing. A file that cannot be parsed, is not your
own, or changes meanwhile is left alone, and then nothing is written at all.

The files: ~/.claude/settings.json (CLAUDE_CONFIG_DIR); ~/.codex/hooks.json where
it exists, else ~/.codex/config.toml (CODEX_HOME); ~/.gemini/settings.json. A
symlink is followed. Codex runs new hooks only when you have looked at them: it
asks when it starts.
` + cmdline.PlainStatus,
		Example: `  carrel hooks install
  carrel hooks install codex
  carrel hooks install --dry-run claude`,
	})
}

func hooksRemoveCommand(env *cmdenv.Env) *cobra.Command {
	return hooksEditCommand(env, hooks.Remove, &cobra.Command{
		Use:   "remove [flags] [AGENT...]",
		Short: "Take the hooks out of the settings of agents",
		Long: `Takes out what carrel hooks install put in, of the agents that are named or of
all. The rest stays byte for byte: where the file was not edited since, it is
what it was before. Hooks of ours are known by the command line that they run.
` + cmdline.PlainStatus,
		Example: `  carrel hooks remove
  carrel hooks remove --dry-run codex`,
	})
}

func hooksEditCommand(env *cmdenv.Env, op hooks.Operation, cmd *cobra.Command) *cobra.Command {
	var asJSON, dry bool
	cmd.RunE = func(_ *cobra.Command, names []string) error {
		if env.Caller().Inside() {
			return errors.New("this is inside a workspace, where an agent's settings are a copy that is forgotten\nhint: run it outside")
		}
		return editHooks(env, op, names, asJSON, dry)
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would change, and change nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON, one list")
	cmd.ValidArgsFunction = completeHooks
	return cmd
}

func hooksStatusCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status [flags] [AGENT...]",
		Short: "Tell which agents have the hooks",
		Long: `Tells for the agents that are named, or for all, whether the hooks are installed,
not installed or partly installed. It tells where there is no settings file, why
one cannot be read, and what in the file keeps hooks from running.
` + cmdline.PlainStatus,
		Example: `  carrel hooks status
  carrel hooks status --json claude`,
		RunE: func(_ *cobra.Command, names []string) error { return hooksStatus(env, names, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON, one list")
	cmd.ValidArgsFunction = completeHooks
	return cmd
}

func completeHooks(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return slices.DeleteFunc(hooks.Names(), func(name string) bool { return slices.Contains(args, name) }), cobra.ShellCompDirectiveNoFileComp
}

func hooksHost(env *cmdenv.Env) hooks.Host {
	return hooks.Host{Home: env.Getenv("HOME"), Getenv: env.Getenv, Program: sandbox.SelfPath}
}

// hooksJSON is what is printed of one agent.
type hooksJSON struct {
	Agent   string      `json:"agent"`
	File    api.Text    `json:"file"`
	State   hooks.State `json:"state"`   // with --dry-run: as it would be
	Changed []api.Text  `json:"changed"` // files that were written or removed
	Notes   []api.Text  `json:"notes"`
	Error   api.Text    `json:"error,omitempty"`
	Diff    api.Text    `json:"diff,omitempty"` // with --dry-run
}

func hooksOf(r hooks.Report) hooksJSON {
	out := hooksJSON{Agent: r.Agent, File: api.Text(r.File), State: r.State, Changed: []api.Text{}, Notes: show.Texts(r.Notes)}
	if r.Err != nil {
		out.Error = api.Text(r.Err.Error())
	}
	return out
}

func hooksStatus(env *cmdenv.Env, names []string, asJSON bool) error {
	if len(names) == 0 {
		names = hooks.Names()
	}
	var list []hooksJSON
	for _, name := range names {
		r, err := hooksHost(env).Status(name)
		if err != nil {
			return err
		}
		list = append(list, hooksOf(r))
	}
	if asJSON {
		return show.JSON(env.Out, list)
	}
	t := &show.Table{}
	t.Row("AGENT", "STATE", "FILE")
	for _, h := range list {
		t.Row(h.Agent, stateWords[h.State], show.QuoteIf(string(h.File)))
	}
	t.Print(env.Out, "")
	for _, h := range list {
		if h.Error != "" {
			fmt.Fprintf(env.Out, "%s: %s\n", h.Agent, show.OneLine(string(h.Error)))
		}
		printHookNotes(env, h)
	}
	return nil
}

var stateWords = map[hooks.State]string{
	hooks.Installed: "installed", hooks.NotInstalled: "not installed", hooks.Partly: "partly installed",
	hooks.Missing: "no settings file", hooks.Unreadable: "unreadable",
}

func printHookNotes(env *cmdenv.Env, h hooksJSON) {
	for _, n := range h.Notes {
		fmt.Fprintf(env.Out, "%s: note: %s\n", h.Agent, show.OneLine(string(n)))
	}
}

// editHooks plans for all agents before it writes for the first.
func editHooks(env *cmdenv.Env, op hooks.Operation, names []string, asJSON, dry bool) error {
	host := hooksHost(env)
	if len(names) == 0 {
		names = hooks.Names()
		if op == hooks.Install {
			names = slices.DeleteFunc(names, func(name string) bool { return !host.Present(name) })
		}
		if len(names) == 0 {
			return fmt.Errorf("none of the agents has a settings directory here: %s\nhint: start one once, it makes it", strings.Join(hooks.Names(), ", "))
		}
	}
	var changes []*hooks.Change
	for _, name := range names {
		c, err := host.Plan(op, name)
		if err != nil {
			return err
		}
		defer c.Close()
		changes = append(changes, c)
	}
	list := []hooksJSON{}
	for _, c := range changes {
		h := hooksOf(c.Report)
		for _, e := range c.Files {
			if dry {
				h.Diff += api.Text(stepview.FileDiff(e.Path, e.Before, e.After))
			} else {
				h.Changed = append(h.Changed, api.Text(e.Path))
			}
		}
		if !dry {
			if err := c.Apply(); err != nil {
				return err
			}
		}
		if list = append(list, h); !asJSON {
			printHooks(env, op, h, c, dry)
		}
	}
	if asJSON {
		return show.JSON(env.Out, list)
	}
	return nil
}

func printHooks(env *cmdenv.Env, op hooks.Operation, h hooksJSON, c *hooks.Change, dry bool) {
	switch {
	case len(c.Files) == 0 && op == hooks.Install:
		fmt.Fprintf(env.Out, "%s: nothing to do, the hooks are in %s\n", h.Agent, show.OneLine(show.QuoteIf(string(h.File))))
	case len(c.Files) == 0:
		fmt.Fprintf(env.Out, "%s: nothing to do, no hooks are installed\n", h.Agent)
	case dry:
		stepview.PrintDiff(env.Out, string(h.Diff))
	}
	for _, e := range c.Files {
		what := "the hooks are in"
		switch {
		case dry:
			continue
		case e.After == nil:
			what = "the hooks are gone, and with them, as it held nothing else,"
		case op == hooks.Remove:
			what = "the hooks are gone from"
		}
		fmt.Fprintf(env.Out, "%s: %s %s\n", h.Agent, what, show.OneLine(show.QuoteIf(e.Path)))
	}
	printHookNotes(env, h)
}
