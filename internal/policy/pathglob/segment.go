package pathglob

import (
	"errors"
	"strings"
	"unicode/utf8"
)

var (
	errClass = errors.New("[] is an empty class")
	errRange = errors.New("a range in [...] runs backwards")
)

// Segment matches one component of a path.
type Segment struct {
	Text   string  // as written; the name itself where Plain
	Plain  bool    // no wildcard: matches exactly Text
	Deep   bool    // "**": any number of components
	tokens []token // where neither Plain nor Deep
}

type tokenKind uint8

const (
	literalToken tokenKind = iota
	starToken              // any run of bytes
	oneToken               // one character
	classToken             // one character of a class
)

type token struct {
	kind    tokenKind
	literal string
	negate  bool
	ranges  []charRange
}

// charRange holds characters as runes; a byte that is not UTF-8 is a number
// beyond Unicode, so that it equals only itself.
type charRange struct{ lo, hi rune }

const rawByte = utf8.MaxRune + 1

// character decodes one UTF-8 character, or one raw byte.
func character(s string) (rune, int) {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 {
		return rawByte + rune(s[0]), 1
	}
	return r, n
}

// Component compiles the pattern of one component, braces expanded.
func Component(text string) (Segment, error) {
	if text == "**" {
		return Segment{Text: text, Deep: true}, nil
	}
	c := segmentCompiler{text: text}
	for c.at < len(text) {
		if err := c.next(); err != nil {
			return Segment{}, err
		}
	}
	c.flush()
	if len(c.tokens) == 0 {
		return Segment{Plain: true}, nil
	}
	if len(c.tokens) == 1 && c.tokens[0].kind == literalToken {
		return Segment{Text: c.tokens[0].literal, Plain: true}, nil
	}
	return Segment{Text: text, tokens: c.tokens}, nil
}

type segmentCompiler struct {
	text    string
	at      int
	literal strings.Builder
	tokens  []token
}

func (c *segmentCompiler) next() error {
	switch b := c.text[c.at]; b {
	case '\\':
		if c.at+1 == len(c.text) {
			return errEscape
		}
		c.literal.WriteByte(c.text[c.at+1])
		c.at += 2
	case '*':
		for c.at < len(c.text) && c.text[c.at] == '*' {
			c.at++
		}
		c.add(token{kind: starToken})
	case '?':
		c.at++
		c.add(token{kind: oneToken})
	case '[':
		end := classEnd(c.text, c.at)
		if end == 0 {
			c.literal.WriteByte(b)
			c.at++
			return nil
		}
		t, err := compileClass(c.text[c.at+1 : end])
		if err != nil {
			return err
		}
		c.at = end + 1
		c.add(t)
	default:
		c.literal.WriteByte(b)
		c.at++
	}
	return nil
}

func (c *segmentCompiler) add(t token) {
	c.flush()
	c.tokens = append(c.tokens, t)
}

func (c *segmentCompiler) flush() {
	if c.literal.Len() > 0 {
		c.tokens = append(c.tokens, token{kind: literalToken, literal: c.literal.String()})
		c.literal.Reset()
	}
}

// compileClass compiles what stands between "[" and "]".
func compileClass(body string) (token, error) {
	t := token{kind: classToken}
	if body != "" && (body[0] == '!' || body[0] == '^') {
		t.negate = true
		body = body[1:]
	}
	if body == "" {
		return t, errClass
	}
	for body != "" {
		lo, rest := classCharacter(body)
		hi := lo
		if len(rest) > 1 && rest[0] == '-' {
			hi, rest = classCharacter(rest[1:])
		}
		if hi < lo {
			return t, errRange
		}
		t.ranges = append(t.ranges, charRange{lo, hi})
		body = rest
	}
	return t, nil
}

func classCharacter(s string) (rune, string) {
	if s[0] == '\\' && len(s) > 1 {
		s = s[1:]
	}
	r, n := character(s)
	return r, s[n:]
}

// Match tells whether the component is one that the segment stands for. It
// goes back to the last star only, so its work is at most the product of the
// two lengths.
func (s *Segment) Match(name string) bool {
	if s.Plain {
		return s.Text == name
	}
	at, tok := 0, 0
	backName, backTok := -1, -1
	for at < len(name) || tok < len(s.tokens) {
		if tok < len(s.tokens) {
			t := &s.tokens[tok]
			if t.kind == starToken {
				backName, backTok = at, tok+1
				tok++
				continue
			}
			if n := t.take(name[at:]); n > 0 {
				at += n
				tok++
				continue
			}
		}
		if backTok < 0 || backName >= len(name) {
			return false
		}
		_, n := character(name[backName:])
		backName += n
		at, tok = backName, backTok
	}
	return true
}

// take returns how many bytes of the name the token stands for, 0 if none.
func (t *token) take(name string) int {
	if name == "" {
		return 0
	}
	if t.kind == literalToken {
		if strings.HasPrefix(name, t.literal) {
			return len(t.literal)
		}
		return 0
	}
	r, n := character(name)
	if t.kind == oneToken {
		return n
	}
	in := false
	for _, c := range t.ranges {
		in = in || c.lo <= r && r <= c.hi
	}
	if in == t.negate {
		return 0
	}
	return n
}
