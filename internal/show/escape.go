package show

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape makes text from anywhere safe for a terminal: control bytes, escape
// sequences, direction marks and bytes that are not UTF-8 are shown as \xNN or
// \uNNNN. Line ends and tabs stay.
func Escape(s string) string {
	if safe(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case printable(r):
			b.WriteString(s[:n])
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		s = s[n:]
	}
	return b.String()
}

func safe(s string) bool {
	for _, r := range s {
		if r == utf8.RuneError || !printable(r) {
			return false
		}
	}
	return true
}

func printable(r rune) bool { return r == '\n' || r == '\t' || unicode.IsPrint(r) }
