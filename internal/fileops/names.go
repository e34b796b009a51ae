package fileops

import (
	"path/filepath"
	"strconv"
	"strings"
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

// expandHome gives the paths of a request that begin with ~ the home directory that they
// mean. A file of that name is reached as ./~.
func expandHome(req Request, home string) {
	if !filepath.IsAbs(home) {
		return
	}
	expand := func(p *Path) { *p = Path(InHome(string(*p), home)) }
	switch r := req.(type) {
	case *ReadFile:
		expand(&r.Path)
	case *WriteFile:
		expand(&r.Path)
	case *EditFile:
		expand(&r.Path)
	case *ListDirectory:
		expand(&r.Path)
	case *Glob:
		r.expand(expand)
	case *Grep:
		r.expand(expand)
	}
}

func (w *Where) expand(expand func(*Path)) {
	expand(&w.Path)
	for i := range w.Roots {
		expand(&w.Roots[i])
	}
}

// InHome is a path whose ~, alone or before a slash, stands for a home directory.
func InHome(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		return filepath.Join(home, rest)
	}
	return path
}
