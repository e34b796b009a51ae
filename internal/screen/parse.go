package screen

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// state is where the parser is between two bytes. The states are those of DEC's
// terminals; see "A parser for DEC's ANSI-compatible video terminals" by Paul
// Williams (https://vt100.net/emu/dec_ansi_parser).
type state uint8

const (
	ground state = iota
	escape
	sequence // CSI
	operating
	skipped    // another string: DCS, SOS, PM, APC
	stringEnds // ESC within a string
)

const (
	maxParams = 32
	maxParam  = 65535
)

type parser struct {
	state state
	part  [utf8.UTFMax]byte // of a character whose end has not come
	have  int

	prefix byte // of a sequence: < = > ?
	middle byte // one of the bytes from 0x20 to 0x2f; 0xff for several
	params []param
	bad    bool

	text []byte // of an OSC
	osc  bool   // the string that ends is an OSC
}

// param is a number of a sequence; -1 where it was left out. A sub parameter
// comes after a colon.
type param struct {
	n   int
	sub bool
}

// Write takes what the program writes, in pieces of any size. It never fails.
func (s *Screen) Write(b []byte) (int, error) {
	for _, c := range b {
		s.take(c)
	}
	return len(b), nil
}

func (s *Screen) take(c byte) {
	p := &s.parser
	if p.have > 0 {
		if s.continues(c) {
			return
		}
	}
	switch {
	case p.state == stringEnds:
		s.endString(c)
	case c == 0x1b && (p.state == operating || p.state == skipped):
		p.osc, p.state = p.state == operating, stringEnds
	case c == 0x1b:
		p.state, p.middle = escape, 0
	case c == 0x18 || c == 0x1a: // CAN, SUB
		p.state = ground
	case p.state == operating || p.state == skipped:
		s.inString(c)
	case c < 0x20:
		s.control(c)
	case p.state == escape:
		s.inEscape(c)
	case p.state == sequence:
		if p.ends(c) {
			s.sequence(c)
		}
	case c < 0x7f:
		s.print(rune(c))
	case c >= 0x80:
		p.part[0], p.have = c, 1
		s.character()
	}
}

// continues adds a byte to a character, or gives the character up: then the
// byte is a beginning.
func (s *Screen) continues(c byte) bool {
	p := &s.parser
	if c&0xc0 != 0x80 {
		p.have = 0
		s.print(utf8.RuneError)
		return false
	}
	p.part[p.have] = c
	p.have++
	s.character()
	return true
}

func (s *Screen) character() {
	p := &s.parser
	b := p.part[:p.have]
	if !utf8.FullRune(b) {
		return
	}
	r, n := utf8.DecodeRune(b)
	rest := p.have - n
	p.have = 0
	s.print(r)
	for range rest { // bytes of no character
		s.print(utf8.RuneError)
	}
}

// inString bounds what is kept of a string; its length is not bounded.
func (s *Screen) inString(c byte) {
	p := &s.parser
	switch {
	case c == 0x07 && p.state == operating:
		s.operate()
		p.state = ground
	case p.state == operating && c >= 0x20 && len(p.text) < maxTitle+8:
		p.text = append(p.text, c)
	}
}

// endString: ESC ends each string, with or without the backslash that belongs
// to it, which only an honest end has.
func (s *Screen) endString(c byte) {
	p := &s.parser
	if c == '\\' {
		if p.osc {
			s.operate()
		}
		p.state = ground
		return
	}
	p.state, p.middle = escape, 0
	s.take(c)
}

// operate is an OSC: 0 and 2 set the title.
func (s *Screen) operate() {
	text := string(s.parser.text)
	s.parser.text = s.parser.text[:0]
	number, title, found := strings.Cut(text, ";")
	if !found || number != "0" && number != "2" {
		return
	}
	title = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, title[:min(len(title), maxTitle)])
	s.title = title
}

func (s *Screen) inEscape(c byte) {
	p := &s.parser
	if c < 0x30 {
		p.note(c)
		return
	}
	if c == 0x7f || c >= 0x80 {
		return
	}
	p.state = ground
	switch {
	case p.middle != 0:
		s.page.escapeMiddle(p.middle, c)
	case c == '[':
		p.state, p.prefix, p.params, p.bad = sequence, 0, append(p.params[:0], param{n: -1}), false
	case c == ']':
		p.state, p.text = operating, p.text[:0]
	case strings.IndexByte("PX^_", c) >= 0:
		p.state = skipped
	default:
		s.escape(c)
	}
}

// note keeps a byte between a sequence's numbers and its end.
func (p *parser) note(c byte) {
	if p.middle != 0 {
		c = 0xff
	}
	p.middle = c
}

// ends takes a byte of a sequence, and reports whether a valid one ends with it.
func (p *parser) ends(c byte) bool {
	last := &p.params[len(p.params)-1]
	switch {
	case c >= 0x40 && c <= 0x7e:
		p.state = ground
		return !p.bad
	case c >= 0x80:
		p.bad = true
	case c == 0x7f:
	case c < 0x30:
		p.note(c)
	case p.middle != 0:
		p.bad = true
	case c <= '9':
		last.n = min(max(last.n, 0)*10+int(c-'0'), maxParam)
	case c == ';' || c == ':':
		if len(p.params) == maxParams {
			p.bad = true
			return false
		}
		p.params = append(p.params, param{n: -1, sub: c == ':'})
	case len(p.params) == 1 && last.n < 0 && p.prefix == 0:
		p.prefix = c
	default:
		p.bad = true
	}
	return false
}

// number is a sequence's parameter, or what stands for one that is left out.
func (p *parser) number(i, missing int) int {
	if i < len(p.params) && p.params[i].n >= 0 {
		return p.params[i].n
	}
	return missing
}

// count is a parameter where 0 means 1.
func (p *parser) count() int { return max(p.number(0, 1), 1) }
