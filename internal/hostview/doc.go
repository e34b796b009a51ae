// Package hostview finds out what of the host a workspace gets to see by default. It writes the
// files that take the place of host files inside. It looks at the host from outside the walls,
// read only, and returns data; it mounts nothing, runs nothing and decides nothing.
//
// Its words:
//
//   - A [View] is the answer: default rules, generated files, caches, links and
//     environment. Rules are requests of the weakest layer (policy.LayerDefault):
//     the user, a profile or the ceiling may override every one of them.
//   - A toolchain is a directory tree that a version manager or a language keeps
//     in the home directory (~/.nvm, ~/.cargo/bin). It is visible at the same
//     path, read-only; what it must write in normal use (shims) is a [Cache].
//   - A [Cache] is a directory whose changes stay private to the project.
//   - A secret is a path from secrets.txt: never visible unless asked for by a
//     deeper or stronger rule.
//   - A generated [File] replaces a host file that would be wrong inside (other
//     user ids, sockets that are not there) or would carry secrets (.gitconfig).
//   - The prefix is the private place that npm -g, pip --user, cargo install,
//     go install and gem install write to, instead of the host's ~/.local.
//
// Limits: known places only, no tree is walked, so a tool in an unknown place
// stays hidden until it is asked for; a list of secrets is never complete,
// which is why home is empty unless something is listed. Contents are read once
// at the start: later changes on the host (a new resolv.conf after joining a
// VPN) do not reach a running workspace. What is generated is data for a
// program inside; nothing in it is trusted afterwards.
//
// What a look at the project found comes back with [View.Looked]. So the next one lists only the
// directories that may have changed, see package dircache; keeping it is the caller's.
package hostview
