package show

import "io"

// Paint gives text its colours, where a person sees them; the zero value gives none.
type Paint struct{ on bool }

// NewPaint paints for a terminal, unless NO_COLOR is set (https://no-color.org) or the
// terminal knows no colours.
func NewPaint(w io.Writer, getenv func(string) string) Paint {
	return Paint{on: IsTerminal(w) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
}

// On says whether there are colours.
func (p Paint) On() bool { return p.on }

// Bold is for headings.
func (p Paint) Bold(s string) string { return p.with("1", s) }

// Red is for what failed or was refused.
func (p Paint) Red(s string) string { return p.with("31", s) }

// Yellow is for warnings.
func (p Paint) Yellow(s string) string { return p.with("33", s) }

// Green is for what is well.
func (p Paint) Green(s string) string { return p.with("32", s) }

func (p Paint) with(code, s string) string {
	if !p.on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
