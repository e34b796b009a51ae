package named

import (
	"fmt"
	"path/filepath"
	"strings"
)

// maxName bounds a name, which becomes part of paths, in bytes.
const maxName = 64

// maxPurpose bounds what a workspace is said to be for, in bytes.
const maxPurpose = 512

// CheckName says why a name cannot be a workspace's.
func CheckName(name string) error {
	good := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)
	}
	if name == "" || len(name) > maxName || strings.Trim(name[:1], "._-") == "" || strings.IndexFunc(name, func(r rune) bool { return !good(r) }) >= 0 {
		return fmt.Errorf("%q cannot be the name of a workspace: letters, digits and ._- inside, at most %d of them", name, maxName)
	}
	return nil
}

// CheckPurpose says why a text cannot be what a workspace is for.
func CheckPurpose(text string) error {
	if len(text) > maxPurpose {
		return fmt.Errorf("the purpose %.20q... has %d bytes: at most %d", text, len(text), maxPurpose)
	}
	return nil
}

// NameFor is the name of a workspace that is given none: its project's, as far as
// that can be one.
func NameFor(project string) string {
	name := strings.Map(func(r rune) rune {
		if CheckName(string(r)) == nil || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}, filepath.Base(project))
	name = strings.TrimLeft(name, "._-")
	if name = name[:min(len(name), maxName)]; name == "" {
		return "default"
	}
	return name
}
