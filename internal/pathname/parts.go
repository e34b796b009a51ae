package pathname

import "strings"

// Join puts a name below a directory, which may be the root.
func Join(dir, name string) string {
	if dir == "/" {
		return dir + name
	}
	return dir + "/" + name
}

// Parent is the directory of a path, "" of one at the top.
func Parent(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }

// Depth is how many directories a path is below the root.
func Depth[P ~string](path P) int { return strings.Count(string(path), "/") }
