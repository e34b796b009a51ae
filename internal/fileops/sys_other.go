//go:build !unix

package fileops

const careful, noFollow, onlyDir = 0, 0, 0
