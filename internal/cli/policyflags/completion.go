package policyflags

import (
	"carrel/internal/agents"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/config"
	"carrel/internal/decide"
	"carrel/internal/policy"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

// Words of the flags that take one of a few, in widening order.
var (
	PersonaWords   = []string{"human", "agent"}
	networkWords   = []string{"closed", "local", "api", "filtered", "open"}
	displayWords   = []string{"none", "virtual", "host"}
	homeWords      = []string{"none", "toolchains", "full"}
	nestedWords    = []string{"none", "userns", "full"}
	historyWords   = []string{"on", "off", "draft"}
	secretsWords   = []string{"masked", "strict"}
	unknownWords   = []string{"deny", "ask"}
	engineWords    = config.Engines
	agentHomeWords = []string{string(policy.AgentHomePrivate), string(policy.AgentHomeShared)}
	backendWords   = []string{string(policy.BackendVM), string(policy.BackendLima), string(policy.BackendGvisor),
		string(policy.BackendContainer), string(policy.BackendProcess), string(policy.BackendNone)}
)

// RegisterCompletions gives the flags of Flags their words in shells.
func RegisterCompletions(env *cmdenv.Env, cmd *cobra.Command) {
	words := map[string][]string{
		"persona": PersonaWords, "network": networkWords, "display": displayWords, "home": homeWords, "nested": nestedWords, "history": historyWords, "secrets": secretsWords, "on-unknown": unknownWords, "engine": engineWords, "backend": backendWords, "isolation": policy.Isolations, "agent-home": agentHomeWords,
	}
	for _, f := range new(config.VM).Flags() {
		if f.Words != nil {
			words[f.Name] = f.Words
		}
	}
	for flag, list := range words {
		cmdline.CompleteFlag(cmd, flag, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp))
	}
	for _, flag := range []string{"env", "timeout", "memory", "pids", "memory-mb", "cpus", "deny", "protect", "host-port", "publish"} {
		cmdline.CompleteFlag(cmd, flag, cobra.NoFileCompletions)
	}
	cmdline.CompleteFlag(cmd, "allow-host", CompleteHost)
	cmdline.CompleteFlag(cmd, "deny-host", CompleteHost)
	cmdline.CompleteFlag(cmd, "preset", CompletePreset(env))
}

// CompletePreset names the presets. A configuration with mistakes only takes
// away the user's own: a completion has no place for an error.
func CompletePreset(env *cmdenv.Env) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, b := range agents.BuiltinPresets() {
			names = append(names, b.Name+"\t"+b.Title)
		}
		return append(names, OwnPresetNames(env)...), cobra.ShellCompDirectiveNoFileComp
	}
}

// OwnPresetNames are the presets of the user's configuration, with their descriptions.
func OwnPresetNames(env *cmdenv.Env) []string {
	loaded, _, err := decide.ReadSettings(decide.Request{Environ: env.Environ})
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
