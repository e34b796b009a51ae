// Package interceptor serves the roots of a workspace as a FUSE file system, to programs whose
// calls another kernel answers, and the broker cannot trap: those in a virtual machine. It is
// the broker's counterpart: each change is decided by the same [broker.Decider] and told to the
// same [broker.Recorder] before it is made. So history, undo, safeguards and protected names are
// the same code.
//
// Requests come from the kernel's own mount or over a byte stream ([Server.Serve]). The
// other side is hostile: it may send any bytes, name any node, forget what it uses and never
// wait for an answer. Messages are checked before they are parsed, tables are bounded, and
// what a request says of its caller is not looked at: everything is done as the user of this
// process, on threads without capabilities.
//
// A node is an object with the names by which the other side has looked it up. Each request goes
// to a directory that is pinned, or is opened one name at a time beneath a root without
// following any link. It is compared with what the node was. What is decided is the path that
// the kernel gives for the pinned directory.
package interceptor
