package gitconf

import (
	"errors"
	"fmt"
	"strings"
)

// VetReference judges what a reference would hold: the name of an object, or of another
// reference, to which git then writes. A name outside refs is that of another of git's own
// files, its configuration even, and git would put the name of an object there. Other text
// could be a program: a branch may have the name of one that the configuration names. log says
// that it may be the log of a reference as well.
func VetReference(after []byte, log bool) error {
	name, symbolic := Symbolic(after)
	switch text := strings.TrimSpace(string(after)); {
	case symbolic && strings.HasPrefix(name, "refs/") && !strings.Contains("/"+name+"/", "/../"):
		return nil
	case symbolic:
		return fmt.Errorf("git would write to %q, which is no reference", name)
	case !log && strings.Trim(text, "0123456789abcdefABCDEF") != "":
		return errors.New("it is neither the name of an object nor that of a reference")
	}
	return nil
}

// Symbolic gives the name that the text of a symbolic reference leads to; false for that
// of any other. It reads as git's files backend does (parse_loose_ref_contents of
// refs/files-backend.c).
func Symbolic(text []byte) (name string, ok bool) {
	name, ok = strings.CutPrefix(string(text), "ref:")
	return strings.Trim(name, " \t\n\v\f\r"), ok
}
