// Package attach connects this process's standard descriptors, terminal and signals to a command
// or a terminal in a named workspace: until that ends, or is let go of.
//
// It also makes the request for a command from what the caller gives: directory and
// variables. What may be run there is decided by the supervisor.
package attach
