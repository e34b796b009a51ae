// Package mountinfo reads the list of mounts that the kernel gives of a process,
// proc_pid_mountinfo(5). It is for packages that have to know what file system a
// place is of. It opens nothing itself and decides nothing.
package mountinfo

import (
	"slices"
	"strconv"
	"strings"
)

// Mount is one line.
type Mount struct {
	At       string // where it is, as the process sees it
	Type     string // of the file system
	ReadOnly bool   // the file system is, not only this place of it
}

// Parse reads the text of a mountinfo file, in its order: a later mount covers an
// earlier one at its place. What is no line of such a file is left out.
func Parse(text string) []Mount {
	var all []Mount
	for line := range strings.Lines(text) {
		place, system, found := strings.Cut(line, " - ") // optional fields end there
		at, about := strings.Fields(place), strings.Fields(system)
		if !found || len(at) < 6 || len(about) < 3 {
			continue
		}
		all = append(all, Mount{At: unescaped(at[4]), Type: about[0], ReadOnly: slices.Contains(strings.Split(about[2], ","), "ro")})
	}
	return all
}

// unescaped undoes what the kernel does to spaces and their like: \ooo.
func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
