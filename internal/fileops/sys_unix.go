//go:build unix

package fileops

import "syscall"

// Flags for every open: nothing that is no file may block, or become a terminal of ours.
const (
	careful  = syscall.O_NONBLOCK | syscall.O_NOCTTY
	noFollow = syscall.O_NOFOLLOW
	onlyDir  = syscall.O_DIRECTORY
)
