// Package shim is what our own program does when something inside starts it by the name
// of a host command: it asks for the command over the workspace's socket, carries its
// streams, terminal and signals, and ends as the command does.
//
// It runs as untrusted as any command inside, and decides nothing. It imports little, as
// its start is part of each call.
package shim
