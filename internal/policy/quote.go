package policy

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"
)

// shellWord quotes a word for a POSIX shell, as bytes: what a hint shows must
// be what a person can paste. Bytes that a terminal would act on are written
// in the $'...' form.
func shellWord(s string) string {
	switch {
	case s != "" && strings.IndexFunc(s, notShellSafe) < 0 && !strings.Contains(s, "\uFFFD"):
		return s
	case printable(s) == s || printable(s) == `"`+strings.ReplaceAll(s, `"`, `\"`)+`"`:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20 || c >= 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

func notShellSafe(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,:@%", r))
}

// yamlWord writes a string as the configuration reads it back: plain where
// that is safe, else in double quotes, and as !!binary where it is not UTF-8.
func yamlWord(s string) string {
	if s != "" && strings.IndexFunc(s, notYAMLSafe) < 0 && !strings.ContainsAny(s[:1], "-@%") {
		return s
	}
	if !utf8.ValidString(s) {
		return "!!binary " + base64.StdEncoding.EncodeToString([]byte(s))
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c < 0x20 || c >= 0x7f && c < 0xa0:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func notYAMLSafe(r rune) bool { return notShellSafe(r) || r == ',' || r == ':' }
