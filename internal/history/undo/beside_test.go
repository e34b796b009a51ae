package undo

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestBeside: a name for what is in the way has room, differs from all others of its
// kind, and cuts no character in two.
func TestBeside(t *testing.T) {
	for name, want := range map[string]string{
		"a":                      "a.undo-conflict",
		strings.Repeat("x", 255): strings.Repeat("x", 237) + ".undo-conflict",
		strings.Repeat("é", 127): strings.Repeat("é", 118) + ".undo-conflict",
		strings.Repeat("x", 234) + "\U0001f600" + strings.Repeat("x", 17): strings.Repeat("x", 234) + ".undo-conflict",
		strings.Repeat("\xff", 255):                                       strings.Repeat("\xff", 237) + ".undo-conflict",
		strings.Repeat("\x80", 255):                                       strings.Repeat("\x80", 237) + ".undo-conflict",
	} {
		if got := beside(name, 1); got != want {
			t.Errorf("%.20q...: %q, want %q", name, got, want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.StringN(1, 255, 255).Draw(rt, "name")
		if rapid.Bool().Draw(rt, "bytes") {
			name = string(rapid.SliceOfN(rapid.Byte(), 1, 255).Draw(rt, "name"))
		}
		a, b := beside(name, 1), beside(name, besideTries-1)
		if a == b || len(a) > maxName || len(b) > maxName || utf8.ValidString(name) && !utf8.ValidString(b) {
			rt.Fatalf("%q: %q and %q", name, a, b)
		}
	})
}
