package cli

import (
	"carrel/internal/agents"

	"github.com/spf13/cobra"
)

// commands makes the command of a name, or all of them where none has it. To make all
// takes longer than to ask a workspace for something.
func (a *app) commands(name string) []*cobra.Command {
	table := []struct {
		name string
		make func(*app) *cobra.Command
	}{
		{"run", (*app).runCommand}, {"shell", (*app).shellCommand}, {"sandbox", (*app).sandboxCommand}, {"import", (*app).importCommand}, {"explain", (*app).explainCommand}, {"config", (*app).configCommand}, {"preset", (*app).presetCommand}, {"profile", (*app).profileCommand}, {"permissions", (*app).permissionsCommand},
		{"start", (*app).startCommand}, {"list", (*app).listCommand}, {"status", (*app).statusCommand}, {"exec", (*app).execCommand}, {"launch", (*app).launchCommand}, {"apps", (*app).appsCommand}, {"wait", (*app).waitCommand}, {"kill", (*app).killCommand}, {"logs", (*app).logsCommand}, {"events", (*app).eventsCommand},
		{"terminal", (*app).terminalCommand}, {"attach", (*app).attachCommand}, {"control", (*app).controlCommand}, {"manifest", (*app).manifestCommand}, {"artifacts", (*app).artifactsCommand}, {"cleanup", (*app).cleanupCommand}, {"revoke", (*app).revokeCommand},
		{"screenshot", (*app).screenshotCommand}, {"windows", (*app).windowsCommand}, {"window", (*app).windowCommand}, {"click", (*app).clickCommand}, {"drag", (*app).dragCommand}, {"scroll", (*app).scrollCommand}, {"key", (*app).keyCommand}, {"type", (*app).typeCommand}, {"input", (*app).inputCommand},
		{"computer", (*app).computerCommand}, {"clipboard", (*app).clipboardCommand}, {"a11y", (*app).a11yCommand}, {"screen", (*app).screenCommand}, {"record", (*app).recordCommand}, {"watch", (*app).watchCommand},
		{"ps", (*app).psCommand}, {"approvals", (*app).approvalsCommand}, {"approve", (*app).approveCommand}, {"deny", (*app).denyCommand}, {"pause", (*app).pauseCommand}, {"resume", (*app).resumeCommand}, {"stop", (*app).stopCommand},
		{"history", (*app).historyCommand}, {"du", (*app).duCommand}, {"show", (*app).showCommand}, {"diff", (*app).diffCommand}, {"undo", (*app).undoCommand}, {"redo", (*app).redoCommand}, {"discard", (*app).discardCommand}, {"step", (*app).stepCommand}, {"connect", (*app).connectCommand},
		{"audit", (*app).auditCommand}, {"denials", (*app).denialsCommand}, {"links", (*app).linksCommand}, {"net", (*app).netCommand}, {"hooks", (*app).hooksCommand}, {"agent", (*app).clientsCommand}, {"mcp", (*app).mcpCommand}, {"stdio", (*app).stdioCommand}, {"doctor", (*app).doctorCommand}, {"version", (*app).versionCommand},
	}
	var all []*cobra.Command
	for _, c := range table {
		if c.name == name {
			return []*cobra.Command{c.make(a)}
		}
	}
	if agent, ok := agents.ByCommand(name); ok {
		return []*cobra.Command{a.agentCommand(agent, name)}
	}
	for _, c := range table {
		all = append(all, c.make(a))
	}
	for _, agent := range agents.Known() {
		for _, word := range agent.Commands() {
			all = append(all, a.agentCommand(agent, word))
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
