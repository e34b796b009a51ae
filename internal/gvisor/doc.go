// Package gvisor starts a sandbox of gVisor: programs in it make their system calls to a kernel of
// its own, the sentry, which is an ordinary program of this machine. The sandbox's file system is
// the view of a plan, made by the code that makes it behind walls, in namespaces of its own. The
// sentry and what serves files to it run in there. One who breaks out of the sentry finds the view
// and no more. What changes the project comes through a mount of FUSE.
//
// The first process in a sandbox is carrel-relay, which starts others of itself; each has streams
// to this side. All of it ends with the process that has started it.
package gvisor

// StartsArg is the word by which carrel-relay is a sandbox's first process.
const StartsArg = "-starts"

// Version is that of gVisor, as go.mod has it.
const Version = "2026-02-24"
