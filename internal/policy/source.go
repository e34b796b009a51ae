package policy

import (
	"fmt"
	"strings"
)

// String names the layer as a person would.
func (k LayerKind) String() string {
	switch k {
	case LayerOperator:
		return "operator"
	case LayerCeiling:
		return "ceiling"
	case LayerCommandLine:
		return "command line"
	case LayerEnvironment:
		return "environment"
	case LayerUser:
		return "user configuration"
	case LayerProfile:
		return "profile"
	case LayerProject:
		return "project file"
	case LayerDefault:
		return "default"
	}
	return "no layer"
}

// String writes the source as "file:line:column: key", or as the flag,
// variable or reason alone where there is no file.
func (s Source) String() string {
	where, text := s.position(), shortened(s.Text)
	switch {
	case where == "" && text == "":
		return s.Layer.String()
	case where == "":
		return text
	case text == "":
		return where
	}
	return where + ": " + text
}

// shortened keeps what a file says from filling the terminal.
func shortened(text string) string {
	const most = 500
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// position is the file part of the source: "" where there is no file.
func (s Source) position() string {
	switch {
	case s.File == "":
		return ""
	case s.Line == 0:
		return printable(s.File)
	case s.Column == 0:
		return fmt.Sprintf("%s:%d", printable(s.File), s.Line)
	}
	return fmt.Sprintf("%s:%d:%d", printable(s.File), s.Line, s.Column)
}

// before orders sources for messages that must not depend on the order in
// which rules were given.
func (s Source) before(o Source) bool {
	switch {
	case s.Layer != o.Layer:
		return s.Layer < o.Layer
	case s.File != o.File:
		return s.File < o.File
	case s.Line != o.Line:
		return s.Line < o.Line
	case s.Column != o.Column:
		return s.Column < o.Column
	}
	return s.Text < o.Text
}

// explicit tells whether a person asked for it, so that more than the ceiling
// is a refusal. The operator's own settings and defaults are narrowed instead.
func (k LayerKind) explicit() bool {
	return k >= LayerCommandLine && k <= LayerProfile
}

// String names the access.
func (a Access) String() string {
	switch a {
	case Read:
		return "read"
	case Write:
		return "write"
	case Deny:
		return "deny"
	}
	return "none"
}

// grants orders accesses by what they let through: Deny and Unset nothing.
func (a Access) grants() int {
	if a == Read || a == Write {
		return int(a)
	}
	return 0
}

// printable shows a path as it is where that is harmless, else quoted: a path
// may hold newlines, escapes and bytes that are not UTF-8.
func printable(p string) string {
	if q := fmt.Sprintf("%q", p); q != `"`+p+`"` {
		return q
	}
	return p
}
