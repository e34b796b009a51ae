package cli

import (
	"os"
	"slices"

	"carrel/internal/agents"
	"carrel/internal/cmdline"
	"carrel/internal/config"
	"carrel/internal/policy"
	"carrel/internal/show"
	"carrel/internal/workspace"

	"github.com/spf13/cobra"
)

// Words of the flags that take one of a few, in widening order.
var (
	personaWords   = []string{"human", "agent"}
	networkWords   = []string{"closed", "local", "api", "filtered", "open"}
	displayWords   = []string{"none", "virtual", "host"}
	homeWords      = []string{"none", "toolchains", "full"}
	nestedWords    = []string{"none", "userns", "full"}
	historyWords   = []string{"on", "off"}
	secretsWords   = []string{"masked", "strict"}
	unknownWords   = []string{"deny", "ask"}
	engineWords    = config.Engines
	agentHomeWords = []string{string(policy.AgentHomePrivate), string(policy.AgentHomeShared)}
	backendWords   = []string{string(policy.BackendProcess), string(policy.BackendNone)}
)

// registerCompletions gives the flags of runFlags their words in shells.
func (a *app) registerCompletions(cmd *cobra.Command) {
	words := map[string][]string{
		"persona": personaWords, "network": networkWords, "display": displayWords, "home": homeWords, "nested": nestedWords, "history": historyWords, "secrets": secretsWords, "on-unknown": unknownWords, "engine": engineWords, "backend": backendWords, "agent-home": agentHomeWords,
	}
	for flag, list := range words {
		cmdline.CompleteFlag(cmd, flag, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp))
	}
	for _, flag := range []string{"env", "timeout", "memory", "pids", "deny", "protect", "host-port", "publish"} {
		cmdline.CompleteFlag(cmd, flag, cobra.NoFileCompletions)
	}
	cmdline.CompleteFlag(cmd, "allow-host", completeHost)
	cmdline.CompleteFlag(cmd, "deny-host", completeHost)
	cmdline.CompleteFlag(cmd, "preset", a.completePreset)
}

// completing says that a shell asks how a line goes on.
func (a *app) completing() bool {
	return len(a.args) > 0 && (a.args[0] == cobra.ShellCompRequestCmd || a.args[0] == cobra.ShellCompNoDescRequestCmd)
}

// completePreset names the presets. A configuration with mistakes only takes
// away the user's own: a completion has no place for an error.
func (a *app) completePreset(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, b := range agents.BuiltinPresets() {
		names = append(names, b.Name+"\t"+b.Title)
	}
	return append(names, a.ownPresetNames()...), cobra.ShellCompDirectiveNoFileComp
}

func (a *app) ownPresetNames() []string {
	loaded, _, err := workspace.ReadSettings(workspace.Request{Environ: a.environ})
	if err != nil {
		return nil
	}
	var names []string
	for _, p := range loaded.Presets {
		name := p.Name
		if p.Description != "" {
			name += "\t" + show.OneLine(p.Description)
		}
		names = append(names, name)
	}
	return names
}

// getenv gives the last value of name in the environment we were given.
func (a *app) getenv(name string) string {
	for _, e := range slices.Backward(a.environ) {
		if len(e) > len(name) && e[:len(name)] == name && e[len(name)] == '=' {
			return e[len(name)+1:]
		}
	}
	return ""
}

// configOptions are where the configuration is, for the commands that read or
// change one file of it.
func (a *app) configOptions() config.Options {
	home := a.getenv("HOME")
	loc, err := workspace.Locate("", home)
	if err == nil {
		home = loc.Home
	}
	opts := config.Options{Home: home, ConfigHome: a.getenv("XDG_CONFIG_HOME"), Project: loc.Project, Cwd: loc.Cwd, Environ: a.environ}
	if loc.Cwd == "" {
		opts.Cwd, _ = os.Getwd()
	}
	return opts
}
