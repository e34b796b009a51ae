//go:build unix

package fileops

import (
	"io/fs"
	"syscall"
)

// Flags for every open: nothing that is no file may block, or become a terminal of ours.
const (
	careful  = syscall.O_NONBLOCK | syscall.O_NOCTTY
	noFollow = syscall.O_NOFOLLOW
	onlyDir  = syscall.O_DIRECTORY
)

// sameDevice says whether two files are on one file system.
func sameDevice(a, b fs.FileInfo) bool {
	x, ok := a.Sys().(*syscall.Stat_t)
	y, ok2 := b.Sys().(*syscall.Stat_t)
	return ok && ok2 && x.Dev == y.Dev
}
