// Package registry is where running workspaces are found: a directory with a manifest and a
// socket for each. It says where such directories are and which of them can be trusted. It says
// which process a manifest names and whether that still runs, and connects to the socket.
//
// What a manifest says besides, and what is said over the socket, belongs to the callers. One of
// them asks before the rest of the program is initialised, see package quickexec. So this
// package uses no JSON, no package net and no regular expressions.
package registry
