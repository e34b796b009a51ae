package guard

import (
	"io"
	"os"
	"strings"
)

// maxListed is how many names a directory may have to be listed; looking at each protected
// name costs less with more.
const maxListed = 1000

// Absent says which names a directory surely does not have, by one look at it: there are
// hundreds to ask for, and mostly none of them is there. Where it cannot be listed, or names
// may differ in case, none is surely absent.
func Absent(dir string) func(name string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return func(string) bool { return false }
	}
	defer f.Close()
	names, err := f.Readdirnames(maxListed)
	if err != nil && err != io.EOF || len(names) == maxListed || FoldsCase(dir) {
		return func(string) bool { return false }
	}
	there := make(map[string]bool, len(names))
	for _, name := range names {
		there[strings.ToLower(name)] = true
	}
	return func(name string) bool { return !strings.Contains(name, "*") && !there[strings.ToLower(name)] }
}
