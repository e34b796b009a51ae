package policy

import (
	"iter"
	"path"
	"strings"
)

// components yields the names of a clean absolute path; none for "/".
func components(p string) iter.Seq[string] {
	return func(yield func(string) bool) {
		p = strings.TrimPrefix(p, "/")
		for p != "" {
			name, rest, _ := strings.Cut(p, "/")
			if !yield(name) {
				return
			}
			p = rest
		}
	}
}

// cleanPath is path.Clean, without work for paths that are clean.
func cleanPath(p string) string { return path.Clean(p) }

func isCleanAbs(p string) bool {
	return strings.HasPrefix(p, "/") && path.Clean(p) == p && strings.IndexByte(p, 0) < 0
}

// depth is the number of components of a clean absolute path.
func depth(p string) int {
	if p == "/" || p == "" {
		return 0
	}
	return strings.Count(p, "/")
}
