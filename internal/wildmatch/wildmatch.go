// Package wildmatch matches paths with patterns as git does: those of gitignore(5), and of the
// conditions of includes in git-config(1). Sets, POSIX classes, stars and their odd cases are
// those of git's own function of that name (wildmatch.c). git is the oracle of the tests of
// those who use it.
//
// The work on one pattern is bounded: what needs more matches nothing.
package wildmatch

import "strings"

// maxSteps bounds the work on one name and one pattern: stars in stars could go on
// for ever. A pattern that needs more matches nothing.
const maxSteps = 1 << 18

// Match reports whether a pattern matches a text as a whole. With paths, which git calls
// WM_PATHNAME, * and ? stop at slashes and ** does not.
func Match(pattern, text string, paths bool) bool {
	w := wild{paths: paths, left: maxSteps}
	return w.match(pattern, text, 0) == matched
}

type wild struct {
	paths bool
	left  int
}

// verdict is what a part of a pattern says: of those that are no match, what the
// stars before it need not try any more.
type verdict int

const (
	matched verdict = iota
	noMatched
	abortAll      // the text has ended
	abortToDouble // a slash is in the way of a single star
)

// maxDepth bounds the stars of one pattern.
const maxDepth = 64

func (w *wild) match(p, t string, depth int) verdict {
	begin := true // of the whole pattern, or behind a slash: there ** is special
	for i := 0; i < len(p); i++ {
		if w.left--; w.left < 0 || depth > maxDepth {
			return abortAll
		}
		c := p[i]
		if t == "" && c != '*' {
			return abortAll
		}
		switch c {
		case '\\':
			if i++; i == len(p) || t[0] != p[i] {
				return noMatched
			}
		case '?':
			if w.paths && t[0] == '/' {
				return noMatched
			}
		case '*':
			return w.star(p[i:], t, begin || i > 0 && p[i-1] == '/', depth)
		case '[':
			n, ok := class(p[i:], t[0])
			if n == 0 {
				return abortAll
			}
			if !ok || w.paths && t[0] == '/' {
				return noMatched
			}
			i += n - 1
		default:
			if t[0] != c {
				return noMatched
			}
		}
		t, begin = t[1:], false
	}
	if t != "" {
		return noMatched
	}
	return matched
}

// star matches from a star on. special says that ** here would be a whole component so
// far.
func (w *wild) star(p, t string, special bool, depth int) verdict {
	n := len(p) - len(strings.TrimLeft(p, "*"))
	rest := p[n:]
	slashes := !w.paths
	if w.paths && n > 1 && special && (rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`)) {
		if rest != "" && rest[0] == '/' && w.match(rest[1:], t, depth+1) == matched {
			return matched // **/ may stand for nothing
		}
		slashes = true
	}
	if rest == "" { // a star at the end takes the rest
		if !slashes && strings.Contains(t, "/") {
			return abortToDouble
		}
		return matched
	}
	if !slashes && rest[0] == '/' { // a component and no more
		at := strings.IndexByte(t, '/')
		if at < 0 {
			return noMatched
		}
		return w.match(rest[1:], t[at+1:], depth+1)
	}
	for ; ; t = t[1:] {
		v := w.match(rest, t, depth+1)
		if v != noMatched && (!slashes || v != abortToDouble) {
			return v
		}
		if t == "" {
			return abortAll
		}
		if !slashes && t[0] == '/' {
			return abortToDouble
		}
	}
}

// posix are the classes that have names.
var posix = map[string]func(byte) bool{
	"alnum": func(c byte) bool { return isLetter(c) || isDigit(c) },
	"alpha": isLetter,
	"blank": func(c byte) bool { return c == ' ' || c == '\t' },
	"cntrl": func(c byte) bool { return c < ' ' || c == 0x7f },
	"digit": isDigit,
	"graph": func(c byte) bool { return c > ' ' && c < 0x7f },
	"lower": func(c byte) bool { return c >= 'a' && c <= 'z' },
	"print": func(c byte) bool { return c >= ' ' && c < 0x7f },
	"punct": func(c byte) bool { return c > ' ' && c < 0x7f && !isLetter(c) && !isDigit(c) },
	"space": func(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' },
	"upper": func(c byte) bool { return c >= 'A' && c <= 'Z' },
	"xdigit": func(c byte) bool {
		return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
	},
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// class matches a bracket expression. It gives its length, 0 where it does not end or
// has a class that is none.
func class(p string, c byte) (n int, ok bool) {
	i := 1
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	prev, first := byte(0), true
	for ; ; first = false {
		if i >= len(p) {
			return 0, false
		}
		x := p[i]
		switch {
		case x == ']' && !first:
			return i + 1, ok != negated
		case x == '-' && prev != 0 && i+1 < len(p) && p[i+1] != ']':
			if i++; p[i] == '\\' {
				if i++; i >= len(p) {
					return 0, false
				}
			}
			ok = ok || c >= prev && c <= p[i]
			prev = 0
			i++
			continue
		case x == '[' && i+1 < len(p) && p[i+1] == ':':
			end := strings.IndexByte(p[i+2:], ']')
			if end < 0 {
				return 0, false
			}
			name := p[i+2 : i+2+end]
			if !strings.HasSuffix(name, ":") { // no class after all: a bracket
				ok, prev = ok || c == '[', '['
				i++
				continue
			}
			is := posix[strings.TrimSuffix(name, ":")]
			if is == nil {
				return 0, false
			}
			ok, prev = ok || is(c), 0
			i += 2 + end + 1
			continue
		case x == '\\':
			if i++; i >= len(p) {
				return 0, false
			}
			x = p[i]
		}
		ok, prev = ok || c == x, x
		i++
	}
}
