//go:build !linux

package machine

// Files serves places of this host to the kernel of a machine. No machine is served but from Linux.
type Files = struct{}
