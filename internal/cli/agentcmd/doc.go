// Package agentcmd holds the commands by which agents and other programs use carrel: agent
// and hooks put it into the settings of agents, mcp and stdio answer them, over the Model
// Context Protocol and in JSON Lines.
//
// A command reads flags and the ceiling, which a server keeps for its life, and hands both
// over. The settings are edited by packages clients and hooks, and packages mcpserver and
// jsonapi speak the protocols.
package agentcmd

import "carrel/internal/cli/cmdenv"

// Commands are the commands of this package.
func Commands() []cmdenv.Command {
	return []cmdenv.Command{
		{Name: "hooks", Make: hooksCommand},
		{Name: "mcp", Make: mcpCommand},
		{Name: "stdio", Make: stdioCommand},
		{Name: "agent", Make: clientsCommand},
	}
}
