package gitconf

import (
	"fmt"
	"strings"
)

// VetReference judges what a reference would hold: the name of an object, or of another
// reference, to which git then writes. A name outside refs is that of another of git's own
// files, its configuration even, and git would put the name of an object there.
func VetReference(_, after []byte) error {
	name, symbolic := Symbolic(after)
	if !symbolic || strings.HasPrefix(name, "refs/") && !strings.Contains("/"+name+"/", "/../") {
		return nil
	}
	return fmt.Errorf("git would write to %q, which is no reference", name)
}

// Symbolic gives the name that the text of a symbolic reference leads to; false for that
// of any other. It reads as git's files backend does (parse_loose_ref_contents of
// refs/files-backend.c).
func Symbolic(text []byte) (name string, ok bool) {
	name, ok = strings.CutPrefix(string(text), "ref:")
	return strings.Trim(name, " \t\n\v\f\r"), ok
}
