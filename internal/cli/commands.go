package cli

import (
	"cmp"
	"slices"
	"strings"

	"carrel/internal/agents"
	"carrel/internal/cli/agentcmd"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/configcmd"
	"carrel/internal/cli/decisioncmd"
	"carrel/internal/cli/desktopcmd"
	"carrel/internal/cli/doctorcmd"
	"carrel/internal/cli/historycmd"
	"carrel/internal/cli/namedcmd"
	"carrel/internal/cli/reviewcmd"
	"carrel/internal/cli/runcmd"

	"github.com/spf13/cobra"
)

// order is that of the commands in a suggestion for a mistyped one.
var order = strings.Fields(`
run shell sandbox import explain config preset profile permissions start list status
exec launch apps wait kill logs events terminal attach control manifest artifacts
cleanup rm revoke task review desktop ps approvals approve allow deny pause resume stop
history du show diff undo redo discard step connect audit denials links net hooks
agent mcp stdio container install-dev lima vm doctor projects purge version`)

// commands makes the command of a name, or all of them where none has it. To make all
// takes longer than to ask a workspace for something.
func commands(env *cmdenv.Env, name string) []*cobra.Command {
	table := slices.Concat(
		runcmd.Commands(), namedcmd.Commands(), historycmd.Commands(), decisioncmd.Commands(),
		desktopcmd.Commands(), configcmd.Commands(), agentcmd.Commands(), doctorcmd.Commands(), reviewcmd.Commands(),
	)
	for _, c := range table {
		if c.Name == name {
			return []*cobra.Command{c.Make(env)}
		}
	}
	if agent, ok := agents.ByCommand(name); ok {
		return []*cobra.Command{runcmd.AgentCommand(env, agent, name)}
	}
	slices.SortStableFunc(table, func(x, y cmdenv.Command) int {
		return cmp.Compare(slices.Index(order, x.Name), slices.Index(order, y.Name))
	})
	var all []*cobra.Command
	for _, c := range table {
		all = append(all, c.Make(env))
	}
	for _, agent := range agents.Known() {
		for _, word := range agent.Commands() {
			all = append(all, runcmd.AgentCommand(env, agent, word))
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
