package pathglob

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// matches walks a path along one alternative, as a caller does.
func matches(p Pattern, names []string) bool {
	switch {
	case len(p) == 0:
		return len(names) == 0
	case p[0].Deep:
		return matches(p[1:], names) || len(names) > 0 && matches(p, names[1:])
	}
	return len(names) > 0 && (p[0].Plain && p[0].Text == names[0] || !p[0].Plain && p[0].Match(names[0])) && matches(p[1:], names[1:])
}

func TestCompile(t *testing.T) {
	for _, c := range []struct {
		glob, path string
		want       bool
	}{
		{"a/b", "a/b", true},
		{"a/b", "a/c", false},
		{"*.env", "x.env", true},
		{"*.env", "d/x.env", false},
		{"**/x", "x", true},
		{"**/x", "a/b/x", true},
		{"a/**/**/b", "a/b", true},
		{"a**b", "ab", true},
		{"a**b", "a/b", false},
		{"?", "ü", true},
		{"?", "\xff", true},
		{"[a-c]", "b", true},
		{"[!a-c]", "b", false},
		{"[a", "[a", true},
		{"{a,b}/c", "b/c", true},
		{`\*`, "*", true},
		{`\*`, "x", false},
	} {
		alternatives, err := Compile(c.glob)
		if err != nil {
			t.Errorf("%q: %v", c.glob, err)
			continue
		}
		names := strings.Split(c.path, "/")
		if got := slices.ContainsFunc(alternatives, func(p Pattern) bool { return matches(p, names) }); got != c.want {
			t.Errorf("%q on %q: %v, want %v", c.glob, c.path, got, c.want)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for glob, want := range map[string]error{
		"":                              errEmptyGlob,
		"a/../b":                        ErrDotDot,
		"a\x00":                         errNUL,
		"{a":                            errBrace,
		`a\`:                            errEscape,
		"[]]":                           errClass,
		"[z-a]":                         errRange,
		strings.Repeat("a", MaxBytes+1): errLong,
		strings.Repeat("{a,b,c,d}", 6):  errMany,
		strings.Repeat("{a,b,c,d}/", 4): nil,
	} {
		if _, err := Compile(glob); !errors.Is(err, want) {
			t.Errorf("%.20q: %v, want %v", glob, err, want)
		}
	}
}

func TestLiteralMatchesItself(t *testing.T) {
	for _, path := range []string{"a*b", "[x]", "{a,b}", `c\d`, "e?", "plain"} {
		alternatives, err := Compile(Literal(path))
		if err != nil || len(alternatives) != 1 || !matches(alternatives[0], []string{path}) {
			t.Errorf("%q as %q: %v, %v", path, Literal(path), alternatives, err)
		}
	}
}
