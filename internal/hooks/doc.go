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
// # The edit
//
// Settings are other programs' files with the user's comments in them. So they
// are parsed to find places and edited as text: what is foreign stays byte for
// byte. Before and after an edit the whole is decoded, and what is foreign must
// decode alike. [Plan] gives the new text, [Change.Apply] puts it in place at
// once, if the file still is what was read.
//
// Removing gives back the very bytes from before installing, without a record
// of them. Where it could go either way, what we write says what was there: a
// list or object that we add to and that was empty gets our text directly
// behind its bracket, one that we create has white space there. In TOML each of
// our groups follows one blank line, but not at the top of a file that we
// created.
//
// # Limits
//
// A writer that does not replace the file but writes into it, in the moment
// between our last look and the rename, is not noticed. Codex remembers which
// hooks the user trusts by their number in the list; entries go to the end of
// it, so only what was added after them is asked about again when they go.
//
// The package imports nothing of this module.
package hooks
