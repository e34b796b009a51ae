// Package clients makes carrel known to the AI coding agents of this user, and
// takes it away again: the MCP server, the step hooks, a skill, and if wanted a
// block of the agent's own file and shell tools.
//
// # Words
//
//   - client: an agent that speaks MCP, one of a table of four.
//   - scope: the user's settings, or those of one project.
//   - own file: a file that is wholly ours (a skill, a plugin).
//   - block: what keeps an agent from its own tools, for good.
//   - gate: a hook that asks before each tool call whether they may be used now.
//   - lease: a file that a serving `carrel mcp` holds locked for its life.
//   - record: what we have put where, as far as the files themselves cannot tell.
//
// # The edit
//
// All edits of a file are made as text, one after the other, and written at once;
// see package settings. Everything is planned for all clients before the first
// byte is written. The record says before the first write what is going to
// happen, so that the next run after a kill finishes it; every step of it can be
// done twice.
//
// # While serving
//
// Clients read their settings when they start, before they start their servers.
// A block that a server wrote would come too late for the client that started it,
// and stay when the server is killed. So nothing is written: the gate is there all
// the time, and looks for a lease whose server has the same parent as itself. The
// kernel gives the lock back, however the server ends.
//
// The package decides nothing about walls. Of this module it imports hooks,
// settings and ownfile.
package clients
