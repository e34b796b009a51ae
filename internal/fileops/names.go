package fileops

import (
	"strconv"
	"unicode/utf8"
)

// Path is a name in the file system, any bytes but zero. In JSON one that is not
// UTF-8, has control characters, or would be taken for that, is in Go's quoted form.
type Path string

// String is the form that JSON has.
func (p Path) String() string {
	if p.plain() {
		return string(p)
	}
	return strconv.Quote(string(p))
}

// MarshalText implements [encoding.TextMarshaler].
func (p Path) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *Path) UnmarshalText(text []byte) error {
	*p = parsePath(string(text))
	return nil
}

// parsePath reads either form.
func parsePath(text string) Path {
	if len(text) > 1 && text[0] == '"' {
		if plain, err := strconv.Unquote(text); err == nil {
			return Path(plain)
		}
	}
	return Path(text)
}

func (p Path) plain() bool {
	if !utf8.ValidString(string(p)) || parsePath(string(p)) != p {
		return false
	}
	for _, r := range p {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return false
		}
	}
	return true
}
