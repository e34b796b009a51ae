package a11y

import (
	"encoding/json"
	"fmt"
	"strings"

	"carrel/internal/dbus"
)

// objects is where nearly all toolkits put their nodes.
const objects = "/org/a11y/atspi/accessible/"

const (
	rootPath = objects + "root"
	nullPath = "/org/a11y/atspi/null"
)

// Bounds of what a reference names, in bytes.
const (
	maxName  = 64
	maxPath  = 512
	maxShown = 300 // bytes of what is none
)

// Ref names one node for as long as its program shows it: the program's unique
// name on the bus, which is never given out twice, and the object's path. The
// zero Ref names nothing.
type Ref struct {
	bus, path string
}

// String writes ":1.7:42" for a node at the usual place, and ":1.7/a/path" for
// others. [ParseRef] reads both.
func (r Ref) String() string {
	if short, ok := strings.CutPrefix(r.path, objects); ok && !strings.Contains(short, "/") {
		return r.bus + ":" + short
	}
	return r.bus + r.path
}

// ParseRef reads what [Ref.String] wrote. The error says what a reference looks
// like; that there is such a node is not known before it is asked.
func ParseRef(s string) (Ref, error) {
	var r Ref
	if i := strings.IndexByte(s, '/'); i > 0 {
		r = Ref{s[:i], s[i:]}
	} else if i := strings.LastIndexByte(s, ':'); i > 0 {
		r = Ref{s[:i], objects + s[i+1:]}
	}
	if !r.valid() {
		return Ref{}, fmt.Errorf("%q is no reference to a node, want one as the tree shows it, such as :1.7:42", dbus.Clip(s, maxShown))
	}
	return r, nil
}

// MarshalJSON writes the reference as text.
func (r Ref) MarshalJSON() ([]byte, error) { return json.Marshal(r.String()) }

// UnmarshalJSON reads it.
func (r *Ref) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	parsed, err := ParseRef(s)
	if err == nil {
		*r = parsed
	}
	return err
}

// valid says whether both halves are what D-Bus takes. A bus hangs up on who
// sends it anything else, so nothing that a program said is sent on unchecked.
func (r Ref) valid() bool { return dbus.Unique(r.bus) && validPath(r.path) && r.path != nullPath }

func validPath(s string) bool {
	if len(s) > maxPath || len(s) < 2 || s[0] != '/' {
		return false
	}
	for part := range strings.SplitSeq(s[1:], "/") {
		if part == "" || strings.IndexFunc(part, notInPath) >= 0 {
			return false
		}
	}
	return true
}

func notInPath(c rune) bool {
	return c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
}
