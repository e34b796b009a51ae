package history

import (
	"strings"

	"carrel/internal/history/journal"
)

func join(dir, name string) string {
	if dir == "/" {
		return dir + name
	}
	return dir + "/" + name
}

// parentOf is the directory of a path, "" of one at the top.
func parentOf(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }

func depth(path journal.Bytes) int { return strings.Count(string(path), "/") }
