// Package pathname has what is done with paths as text: absolute and clean ones, of any
// bytes. Nothing of it looks at a file system: links on the way do not count, and what is
// not there can be asked for. Where a link matters, resolve it first, by a descriptor.
package pathname

// Within reports whether a path is a directory or lies below it. Both are absolute and
// clean, as [path.Clean] leaves them.
func Within(path, dir string) bool {
	return path == dir || dir == "/" || len(path) > len(dir) && path[:len(dir)] == dir && path[len(dir)] == '/'
}
