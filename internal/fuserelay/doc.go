// Package fuserelay connects a mount of FUSE to a server that runs elsewhere. It mounts the
// file system, and copies the kernel's requests to a byte stream and the answers back. The
// program carrel-relay does so inside a virtual machine; its project lies on the host.
//
// It parses no more of a message than its length. The program at the other end of the stream
// serves the file system, and is trusted with it.
package fuserelay
