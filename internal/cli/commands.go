package cli

import (
	"slices"

	"carrel/internal/agents"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/configcmd"
	"carrel/internal/cli/decisioncmd"
	"carrel/internal/cli/desktopcmd"
	"carrel/internal/cli/historycmd"
	"carrel/internal/cli/namedcmd"
	"carrel/internal/cli/runcmd"

	"github.com/spf13/cobra"
)

// commands makes the command of a name, or all of them where none has it. To make all
// takes longer than to ask a workspace for something.
func (a *app) commands(name string) []*cobra.Command {
	own := func(make func(*app) *cobra.Command) func(*cmdenv.Env) *cobra.Command {
		return func(env *cmdenv.Env) *cobra.Command { return make(&app{env}) }
	}
	table := []cmdenv.Command{
		{"hooks", own((*app).hooksCommand)},
		{"agent", own((*app).clientsCommand)},
		{"mcp", own((*app).mcpCommand)},
		{"stdio", own((*app).stdioCommand)},
		{"doctor", own((*app).doctorCommand)},
		{"version", own((*app).versionCommand)},
	}
	table = slices.Concat(table, historycmd.Commands(), desktopcmd.Commands(), decisioncmd.Commands(), configcmd.Commands(), runcmd.Commands(), namedcmd.Commands())
	var all []*cobra.Command
	for _, c := range table {
		if c.Name == name {
			return []*cobra.Command{c.Make(a.Env)}
		}
	}
	if agent, ok := agents.ByCommand(name); ok {
		return []*cobra.Command{runcmd.AgentCommand(a.Env, agent, name)}
	}
	for _, c := range table {
		all = append(all, c.Make(a.Env))
	}
	for _, agent := range agents.Known() {
		for _, word := range agent.Commands() {
			all = append(all, runcmd.AgentCommand(a.Env, agent, word))
		}
	}
	return all
}

// agentWords are the words that start an agent, for completion.
func agentWords() []string {
	var list []string
	for _, agent := range agents.Known() {
		list = append(list, agent.Name+"\t"+agent.Title)
	}
	return list
}
