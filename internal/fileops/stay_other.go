//go:build !linux

package fileops

import "context"

func stay(context.Context, int) int { return exitUsage }
