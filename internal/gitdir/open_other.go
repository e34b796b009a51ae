//go:build !linux

package gitdir

const noFollow = 0
