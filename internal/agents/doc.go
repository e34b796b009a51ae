// Package agents knows the command-line coding agents: how to recognise one from a command line,
// and where it keeps its settings, its state and its logins. It knows which variables and hosts
// an agent needs, and how it is given one prompt without a terminal. It knows how to switch an
// agent's own sandbox and its prompts off, since the walls replace them.
//
// # Words
//
//   - agent: one program, described as data by [Agent]; [Known] lists them.
//   - recognise: to find, by [Recognise], which agent an argv starts. An agent
//     gets its logins and its hosts only when it is recognised, so this is a
//     decision about trust: the program, script or package that would run must
//     lie outside the project, because those who write the project could
//     otherwise name any program "claude".
//   - config: places that are host truth (settings, hooks, commands, plugins,
//     MCP servers). They are copied in at each start and what changes inside is
//     discarded at the next.
//   - state: places that live on in a private copy from run to run.
//   - login: the files of [Agent.MergeBack]. Their fields that belong to a login are
//     kept alike on both sides while the agent runs: tokens are renewed, and the old
//     ones stop working. [Agreed] is what both sides held when
//     they were last brought together.
//   - shared: places of the host that are put over the private copy where the user
//     wants transcripts and history to be their own; see [Agent.Shared].
//
// # Private copies
//
// A private copy is a directory shaped like a home directory: home/.claude is
// PRIVATE/.claude. It is written from inside the walls, so everything in it is
// untrusted: [MirrorIn] and [SyncLogins] go through os.Root, take regular files
// only, bound every size, and follow no link found there.
//
// # Limits
//
// Recognition reads words, it does not run anything: `bash -c "claude"`,
// `sh wrapper.sh` and aliases are not recognised; ask for the agent by a preset
// there. Names shared with other software ("goose", "amp") count only when the
// agent's own places exist in the home directory. A shim that chooses among
// versions is trusted as far as the directory that it lies in. Logins kept in
// a desktop keyring are out of reach inside.
//
// The package imports nothing of this module but policy and safefile. Recognition and the
// table are pure; only host_os.go and the state files touch the file system.
package agents
