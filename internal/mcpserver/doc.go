// Package mcpserver answers agents that speak the Model Context Protocol.
//
// # One table
//
// [Tools] is the table of all tools. Each entry has a name, what it takes and gives (as JSON
// schemas of Go types), and the function that does it. It says what the tool does to the world,
// and how a changed control of the workspace stops it. Annotations, the catalog, the guard and
// the page of documentation come from there, so they cannot disagree.
//
// # Thin
//
// A tool decides nothing. What a workspace does is asked of its supervisor, which holds
// the policy and looks at each request itself; file tools and commands are programs in
// the workspace like any other. What the command line does already is done by it: the
// tool runs this program with arguments, in the environment of the server, and hands its
// JSON on. A tool can be ended at any time, and what it has begun ends with it.
//
// # Who asks
//
// The other end is an agent. Nothing that comes from there counts as a
// person's word: not an argument that claims it, not the answer to a question that the
// client was asked to put. Such answers can tighten and deny; what widens waits in the
// queue of approvals for a person at a terminal.
package mcpserver
