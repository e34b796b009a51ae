// Package attach has this process's standard descriptors, terminal and signals serve a
// command or a terminal in a named workspace, through its supervisor's socket, until the
// program has ended or the person lets go of it.
//
// It also makes the request for a command from what the caller gives: directory and
// variables. What may be run there is decided by the supervisor.
package attach
