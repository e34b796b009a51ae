package view

import "strings"

const maxPattern = 4096

// wildmatch compares a path with a pattern the way Git does with WM_PATHNAME:
// "*" and "?" stop at slashes, "**" as a whole component does not, "[...]" are
// sets with ranges and POSIX classes, a backslash takes the next byte as it is.
// It is a table over (pattern, text) positions, so no pattern takes longer than
// the product of the two lengths.
func wildmatch(pattern, text string) bool {
	if len(pattern) > maxPattern || len(text) > maxPattern {
		return false
	}
	tokens, ok := compileWild(pattern)
	if !ok {
		return false
	}
	// reach[i] tells whether tokens seen so far can consume text[:i].
	reach := make([]bool, len(text)+1)
	next := make([]bool, len(text)+1)
	reach[0] = true
	for _, t := range tokens {
		clear(next)
		t.step(text, reach, next)
		reach, next = next, reach
	}
	return reach[len(text)]
}

// wildToken is one piece of a pattern.
type wildToken struct {
	kind wildKind
	c    byte
	set  *[256]bool
}

type wildKind uint8

const (
	wildByte  wildKind = iota // exactly c
	wildAny                   // "?": one byte but a slash
	wildSet                   // "[...]"
	wildStar                  // "*": bytes but slashes
	wildDeep                  // "**" at the end: anything
	wildLevel                 // "**/": nothing, or anything that ends in a slash
)

// step extends every position in from by what the token consumes.
func (t wildToken) step(text string, from, to []bool) {
	open := false // wildDeep, wildLevel: an earlier position was reached
	for i := range from {
		switch t.kind {
		case wildStar:
			to[i] = from[i] || i > 0 && to[i-1] && text[i-1] != '/'
		case wildDeep:
			open = open || from[i]
			to[i] = open
		case wildLevel:
			to[i] = from[i] || open && text[i-1] == '/'
			open = open || from[i]
		default:
			if i < len(text) && from[i] && t.takes(text[i]) {
				to[i+1] = true
			}
		}
	}
}

func (t wildToken) takes(c byte) bool {
	switch t.kind {
	case wildByte:
		return c == t.c
	case wildAny:
		return c != '/'
	default:
		return c != '/' && t.set[c]
	}
}

// compileWild cuts a pattern into tokens; ok is false for an open set or a
// trailing backslash.
func compileWild(p string) (tokens []wildToken, ok bool) {
	for i := 0; i < len(p); {
		switch c := p[i]; c {
		case '\\':
			if i+1 >= len(p) {
				return nil, false
			}
			tokens = append(tokens, wildToken{kind: wildByte, c: p[i+1]})
			i += 2
		case '?':
			tokens = append(tokens, wildToken{kind: wildAny})
			i++
		case '*':
			t, n := starToken(p, i)
			tokens = append(tokens, t)
			i += n
		case '[':
			set, n := parseSet(p[i:])
			if n == 0 {
				return nil, false
			}
			tokens = append(tokens, wildToken{kind: wildSet, set: set})
			i += n
		default:
			tokens = append(tokens, wildToken{kind: wildByte, c: c})
			i++
		}
	}
	return tokens, true
}

// starToken reads a run of stars at p[i:]. Two or more stars that fill a whole
// component cross slashes; others are one star.
func starToken(p string, i int) (wildToken, int) {
	n := len(p[i:]) - len(strings.TrimLeft(p[i:], "*"))
	end := i + n
	whole := n >= 2 && (i == 0 || p[i-1] == '/')
	switch {
	case whole && end == len(p):
		return wildToken{kind: wildDeep}, n
	case whole && p[end] == '/':
		return wildToken{kind: wildLevel}, n + 1
	}
	return wildToken{kind: wildStar}, n
}

// posixClasses are the classes of ASCII.
var posixClasses = map[string]func(c byte) bool{
	"alnum":  isAlnum,
	"alpha":  isAlpha,
	"blank":  func(c byte) bool { return c == ' ' || c == '\t' },
	"cntrl":  func(c byte) bool { return c < ' ' || c == 0x7f },
	"digit":  func(c byte) bool { return c >= '0' && c <= '9' },
	"graph":  func(c byte) bool { return c > ' ' && c < 0x7f },
	"lower":  func(c byte) bool { return c >= 'a' && c <= 'z' },
	"print":  func(c byte) bool { return c >= ' ' && c < 0x7f },
	"punct":  func(c byte) bool { return c > ' ' && c < 0x7f && !isAlnum(c) },
	"space":  isSpace,
	"upper":  func(c byte) bool { return c >= 'A' && c <= 'Z' },
	"xdigit": func(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 },
}

// parseSet reads "[...]" and returns how many bytes it took, 0 if it is broken.
func parseSet(p string) (*[256]bool, int) {
	var set [256]bool
	i, negate := 1, false
	if i < len(p) && (p[i] == '!' || p[i] == '^') {
		negate = true
		i++
	}
	for first := true; ; first = false {
		if i >= len(p) {
			return nil, 0
		}
		if p[i] == ']' && !first {
			break
		}
		n := addToSet(&set, p[i:])
		if n == 0 {
			return nil, 0
		}
		i += n
	}
	if negate {
		for c := range set {
			set[c] = !set[c]
		}
	}
	return &set, i + 1
}

// addToSet adds one member, class or range at the start of p.
func addToSet(set *[256]bool, p string) int {
	if strings.HasPrefix(p, "[:") {
		if name, _, ok := strings.Cut(p[2:], ":]"); ok && posixClasses[name] != nil {
			for c := range set {
				set[c] = set[c] || posixClasses[name](byte(c))
			}
			return len(name) + 4
		}
	}
	low, n := setByte(p)
	if n == 0 {
		return 0
	}
	high := low
	if len(p) > n+1 && p[n] == '-' && p[n+1] != ']' {
		h, m := setByte(p[n+1:])
		if m == 0 {
			return 0
		}
		high, n = h, n+1+m
	}
	for c := int(low); c <= int(high); c++ {
		set[c] = true
	}
	return n
}

func setByte(p string) (byte, int) {
	if p[0] != '\\' {
		return p[0], 1
	}
	if len(p) < 2 {
		return 0, 0
	}
	return p[1], 2
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isAlpha(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isAlnum(c byte) bool { return isAlpha(c) || c >= '0' && c <= '9' }

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
