package sandbox

import (
	"path"
	"slices"
)

// Outermost sorts absolute paths and drops what lies below another. There may be as
// many as a project's own file has rules.
func Outermost(paths []string) []string {
	slices.Sort(paths)
	paths = slices.Compact(paths)
	all := make(map[string]bool, len(paths))
	for _, p := range paths {
		all[p] = true
	}
	return slices.DeleteFunc(paths, func(p string) bool {
		for p != "/" && p != "." {
			if p = path.Dir(p); all[p] {
				return true
			}
		}
		return false
	})
}
