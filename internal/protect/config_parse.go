package protect

import (
	"bytes"
	"fmt"
	"strings"
)

const (
	maxConfigBytes = 1 << 20
	maxConfigLines = 100_000
)

// entry is one variable of a git configuration file.
type entry struct {
	section string // lower case
	sub     string // as written, lower case in the old form "[section.sub]"
	hasSub  bool
	key     string // lower case
	value   string
	noValue bool // "key" without "=", which means true
	line    int
	odd     bool // written in a way that not all readers of such files share
}

// name is the variable as `git config --list` writes it.
func (e *entry) name() string {
	if e.hasSub {
		return e.section + "." + e.sub + "." + e.key
	}
	return e.section + "." + e.key
}

// same compares what git reads; where it is written does not count.
func (e *entry) same(o *entry) bool {
	return e.name() == o.name() && e.value == o.value && e.noValue == o.noValue && e.hasSub == o.hasSub && e.odd == o.odd
}

// parseConfig reads the syntax of git-config(1) strictly: where versions of git,
// or other programs that read these files, might disagree the file is refused.
func parseConfig(data []byte) ([]entry, error) {
	if len(data) > maxConfigBytes {
		return nil, &ConfigError{Line: 1, Reason: fmt.Sprintf("the file has %d bytes; at most %d are looked at", len(data), maxConfigBytes)}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	p := &parser{text: bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), line: 1}
	if err := p.plain(); err != nil {
		return nil, err
	}
	var list []entry
	for {
		e, more, err := p.next()
		if err != nil || !more {
			return list, err
		}
		list = append(list, e)
	}
}

// parser holds the place in the text and the section in force.
type parser struct {
	text []byte
	pos  int
	line int
	head entry
}

// plain refuses control characters, the lone carriage return among them: git
// cuts a value at NUL, and readers differ over the others.
func (p *parser) plain() error {
	line := 1
	for _, c := range p.text {
		switch {
		case c == '\n':
			line++
		case c < ' ' && c != '\t' || c == 0x7f:
			return &ConfigError{Line: line, Reason: fmt.Sprintf("control character %#02x; only tabs and line ends are allowed", c)}
		}
	}
	if line > maxConfigLines {
		return &ConfigError{Line: line, Reason: fmt.Sprintf("the file has %d lines; at most %d are looked at", line, maxConfigLines)}
	}
	return nil
}

func (p *parser) fail(format string, args ...any) error {
	return &ConfigError{Line: p.line, Reason: fmt.Sprintf(format, args...)}
}

// get gives the next byte; 0, which the text does not hold, is its end.
func (p *parser) get() byte {
	if p.pos >= len(p.text) {
		return 0
	}
	c := p.text[p.pos]
	p.pos++
	if c == '\n' {
		p.line++
	}
	return c
}

// peek gives the next byte without taking it.
func (p *parser) peek() byte {
	if p.pos >= len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

// next gives the next variable.
func (p *parser) next() (e entry, more bool, err error) {
	for {
		switch c := p.peek(); {
		case c == 0:
			return entry{}, false, nil
		case blank(c) || c == '\n':
			p.get()
		case c == '#' || c == ';':
			if err := p.comment(); err != nil {
				return entry{}, false, err
			}
		case c == '[':
			if err := p.header(); err != nil {
				return entry{}, false, err
			}
		case letter(c):
			e, err := p.variable()
			return e, err == nil, err
		default:
			return entry{}, false, p.fail("%q where a section or a name belongs", c)
		}
	}
}

// comment skips to the end of the line. A backslash there continues nothing for
// git, but might for others.
func (p *parser) comment() error {
	rest, _, _ := bytes.Cut(p.text[p.pos:], []byte("\n"))
	if bytes.HasSuffix(bytes.TrimRight(rest, " \t"), []byte(`\`)) {
		return p.fail("a comment ends in a backslash, which readers take differently")
	}
	p.pos += len(rest)
	return nil
}

// header reads "[section]", "[section.sub]" or `[section "sub"]`.
func (p *parser) header() error {
	p.get()
	start := p.pos
	for letter(p.peek()) || digit(p.peek()) || p.peek() == '-' || p.peek() == '.' {
		p.get()
	}
	name := strings.ToLower(string(p.text[start:p.pos]))
	section, sub, dotted := strings.Cut(name, ".")
	if section == "" || dotted && (sub == "" || strings.HasSuffix(sub, ".")) {
		return p.fail("a section has no proper name; write [section] or [section \"sub\"]")
	}
	p.head = entry{section: section, sub: sub, hasSub: dotted}
	if blank(p.peek()) {
		quoted, err := p.subsection()
		if err != nil {
			return err
		}
		if dotted { // [a.b "c"] is section a, subsection b.c
			quoted = sub + "." + quoted
		}
		p.head.sub, p.head.hasSub = quoted, true
	}
	if p.peek() != ']' {
		return p.fail("a section header does not end in a bracket on its line")
	}
	p.get()
	return nil
}

// subsection reads blanks and a quoted name. A backslash makes the next
// character stand for itself, whatever it is.
func (p *parser) subsection() (string, error) {
	for blank(p.peek()) {
		p.get()
	}
	if p.peek() != '"' {
		return "", p.fail("a subsection is not in quotes; write [section \"sub\"]")
	}
	p.get()
	var b strings.Builder
	for {
		c := p.peek()
		if c == '\\' {
			p.get()
			c = p.peek()
		} else if c == '"' {
			p.get()
			return b.String(), nil
		}
		if c == 0 || c == '\n' {
			return "", p.fail("the quotes of a subsection do not end on their line")
		}
		b.WriteByte(p.get())
	}
}

// variable reads a name and its value.
func (p *parser) variable() (entry, error) {
	e := p.head
	e.line = p.line
	if e.section == "" {
		return e, p.fail("a name stands before the first section")
	}
	start := p.pos
	for letter(p.peek()) || digit(p.peek()) || p.peek() == '-' {
		p.get()
	}
	e.key = strings.ToLower(string(p.text[start:p.pos]))
	for blank(p.peek()) {
		p.get()
	}
	switch c := p.peek(); c {
	case 0, '\n':
		e.noValue = true
		return e, nil
	case '=':
		p.get()
		v := value{p: p}
		err := v.read()
		e.value, e.odd = v.text.String(), v.odd
		return e, err
	default:
		return e, &ConfigError{Key: e.name(), Line: p.line, Reason: fmt.Sprintf("%q behind the name, where \"=\" or the end of the line belongs", c)}
	}
}

// value reads what is behind "=", with quotes, escapes, comments and continued
// lines. Blanks at both ends fall away, inner ones stay.
type value struct {
	p      *parser
	text   strings.Builder
	blanks []byte // seen; they count if something follows
	quoted bool
	odd    bool
}

func (v *value) read() error {
	for {
		c := v.p.peek()
		switch {
		case c == 0 || c == '\n':
			if v.quoted {
				return v.p.fail("the quotes of a value do not end on its line")
			}
			return nil
		case !v.quoted && (c == '#' || c == ';'):
			return v.p.comment()
		case !v.quoted && blank(c):
			if v.text.Len() > 0 {
				v.blanks = append(v.blanks, c)
			}
			v.p.get()
		default:
			if err := v.char(); err != nil {
				return err
			}
		}
	}
}

// char takes what is not a blank. Old versions of git read an inner tab as a
// space, newer ones keep it.
func (v *value) char() error {
	v.odd = v.odd || bytes.IndexByte(v.blanks, '\t') >= 0
	v.text.Write(v.blanks)
	v.blanks = v.blanks[:0]
	switch c := v.p.get(); c {
	case '"':
		v.quoted = !v.quoted
	case '\\':
		return v.escape()
	default:
		v.text.WriteByte(c)
	}
	return nil
}

func (v *value) escape() error {
	switch c := v.p.peek(); c {
	case '\n':
		v.odd = true // continued: readers of single lines see something else
	case 't':
		v.text.WriteByte('\t')
	case 'b':
		v.text.WriteByte('\b')
	case 'n':
		v.text.WriteByte('\n')
	case '\\', '"':
		v.text.WriteByte(c)
	case 0:
		return v.p.fail("the file ends in a backslash")
	default:
		return v.p.fail("unknown escape %q; known are \\\\ \\\" \\n \\t \\b and the end of the line", `\`+string(rune(c)))
	}
	v.p.get()
	return nil
}

func blank(c byte) bool  { return c == ' ' || c == '\t' }
func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }
