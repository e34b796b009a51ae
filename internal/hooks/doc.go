// Package hooks edits the settings of the user's agents, so that each tool call
// of an agent begins and ends a step of the history: the agent's own hooks run
// `carrel step begin` and `carrel step end`.
//
// # Words
//
//   - event: a moment at which an agent runs hooks ("PreToolUse").
//   - handler: one command that is run at an event. Agents keep handlers in
//     groups, each with a matcher of its own; an event has a list of groups.
//   - entry: a handler of ours, recognised by the command line that it runs and
//     by nothing else: no marker, no record beside the file.
//   - foreign: everything in a file that is no entry.
//
// A gate is a hook of another kind: it asks before each tool call whether the
// agent's own tools are to be used now; see [Gate].
//
// [Host.Plan] gives the new text, [Change.Apply] puts it in place; how settings are
// edited is package settings's. Before and after an edit the whole is decoded,
// and what is foreign must decode alike.
//
// # Limits
//
// Codex remembers which
// hooks the user trusts by their number in the list; entries go to the end of
// it, so only what was added after them is asked about again when they go.
//
// Of this module it imports settings.
package hooks
