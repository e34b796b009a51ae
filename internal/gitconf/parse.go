package gitconf

import (
	"bytes"
	"fmt"
	"strings"
)

const (
	maxConfigBytes = 1 << 20
	maxConfigLines = 100_000
)

// Entry is one variable of a git configuration file.
type Entry struct {
	Section string // lower case
	Sub     string // as written, lower case in the old form "[section.sub]"
	HasSub  bool
	Key     string // lower case
	Value   string
	NoValue bool // "key" without "=", which means true
	Line    int
	Odd     bool // written in a way that not all readers of such files share
}

// Name is the variable as `git config --list` writes it.
func (e *Entry) Name() string {
	switch {
	case e.HasSub:
		return e.Section + "." + e.Sub + "." + e.Key
	case e.Section == "": // in front of the first section header
		return e.Key
	}
	return e.Section + "." + e.Key
}

// same compares what git reads; where it is written does not count.
func (e *Entry) same(o *Entry) bool {
	return e.Name() == o.Name() && e.Value == o.Value && e.NoValue == o.NoValue && e.HasSub == o.HasSub && e.Odd == o.Odd
}

// setName splits a variable's name as git does: the section ends at the first
// dot, the key starts at the last one.
func (e *Entry) setName(name string) {
	first, last := strings.IndexByte(name, '.'), strings.LastIndexByte(name, '.')
	switch {
	case first < 0:
		e.Key = name
	case first == last:
		e.Section, e.Key = name[:first], name[first+1:]
	default:
		e.Section, e.Sub, e.HasSub, e.Key = name[:first], name[first+1:last], true, name[last+1:]
	}
}

// Parse reads a file as git does. The entries in front of a syntax error are
// returned with the error: git stops there as well.
func Parse(data []byte) ([]Entry, error) {
	return parse(data, false)
}

// ParseStrict refuses a file wherever versions of git, or other programs that
// read these files, might disagree; so it accepts less than git.
func ParseStrict(data []byte) ([]Entry, error) {
	if len(data) > maxConfigBytes {
		return nil, &ConfigError{Line: 1, Reason: fmt.Sprintf("the file has %d bytes; at most %d are looked at", len(data), maxConfigBytes)}
	}
	list, err := parse(data, true)
	if err != nil {
		return nil, err
	}
	return list, nil
}

func parse(data []byte, strict bool) ([]Entry, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	p := &parser{text: bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), line: 1, strict: strict}
	if strict {
		if err := p.plain(); err != nil {
			return nil, err
		}
	}
	var list []Entry
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
	text   []byte
	pos    int
	line   int
	strict bool
	head   string // "section" or "section.sub", with a dot behind it; "" in front of the first header
}

// end is what get and peek give behind the last byte.
const end = -1

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

// get gives the next byte.
func (p *parser) get() int {
	c := p.peek()
	if c != end {
		p.pos++
	}
	if c == '\n' {
		p.line++
	}
	return c
}

// peek gives the next byte without taking it.
func (p *parser) peek() int {
	if p.pos >= len(p.text) {
		return end
	}
	return int(p.text[p.pos])
}

// next gives the next variable.
func (p *parser) next() (e Entry, more bool, err error) {
	for {
		switch c := p.peek(); {
		case c == end:
			return Entry{}, false, nil
		case blank(c) || c == '\n':
			p.get()
		case c == '#' || c == ';':
			if err := p.comment(); err != nil {
				return Entry{}, false, err
			}
		case c == '[':
			if err := p.header(); err != nil {
				return Entry{}, false, err
			}
		case letter(c):
			e, err := p.variable()
			return e, err == nil, err
		default:
			return Entry{}, false, p.fail("%q where a section or a name belongs", rune(c))
		}
	}
}

// comment skips to the end of the line. A backslash there continues nothing for
// git, but might for others.
func (p *parser) comment() error {
	rest, _, _ := bytes.Cut(p.text[p.pos:], []byte("\n"))
	if p.strict && bytes.HasSuffix(bytes.TrimRight(rest, " \t"), []byte(`\`)) {
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
	if p.strict && (section == "" || dotted && (sub == "" || strings.HasSuffix(sub, "."))) {
		return p.fail("a section has no proper name; write [section] or [section \"sub\"]")
	}
	if blank(p.peek()) {
		quoted, err := p.subsection()
		if err != nil {
			return err
		}
		name += "." + quoted // [a.b "c"] is section a, subsection b.c
	}
	if p.peek() != ']' {
		return p.fail("a section header does not end in a bracket on its line")
	}
	if name == "" {
		return p.fail("a section has no name")
	}
	p.get()
	p.head = name + "."
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
		if c == end || c == '\n' {
			return "", p.fail("the quotes of a subsection do not end on their line")
		}
		b.WriteByte(byte(p.get()))
	}
}

// variable reads a name and its value. git cuts both at a NUL.
func (p *parser) variable() (Entry, error) {
	e := Entry{Line: p.line}
	if p.strict && p.head == "" {
		return e, p.fail("a name stands before the first section")
	}
	start := p.pos
	for letter(p.peek()) || digit(p.peek()) || p.peek() == '-' {
		p.get()
	}
	name, _, _ := strings.Cut(p.head+strings.ToLower(string(p.text[start:p.pos])), "\x00")
	e.setName(name)
	for p.peek() == ' ' || p.peek() == '\t' {
		p.get()
	}
	switch c := p.peek(); c {
	case end, '\n':
		e.NoValue = true
		return e, nil
	case '=':
		p.get()
		v := value{p: p}
		err := v.read()
		e.Value, _, _ = strings.Cut(v.text.String(), "\x00")
		e.Odd = v.odd
		return e, err
	default:
		return e, &ConfigError{Key: e.Name(), Line: p.line,
			Reason: fmt.Sprintf("%q behind the name, where \"=\" or the end of the line belongs", rune(c))}
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
		case c == end || c == '\n':
			if v.quoted {
				return v.p.fail("the quotes of a value do not end on its line")
			}
			return nil
		case !v.quoted && (c == '#' || c == ';'):
			return v.p.comment()
		case !v.quoted && blank(c):
			if v.text.Len() > 0 {
				v.blanks = append(v.blanks, byte(c))
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
	v.odd = v.odd || bytes.ContainsAny(v.blanks, "\t\r")
	v.text.Write(v.blanks)
	v.blanks = v.blanks[:0]
	switch c := v.p.get(); c {
	case '"':
		v.quoted = !v.quoted
	case '\\':
		return v.escape()
	default:
		v.text.WriteByte(byte(c))
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
		v.text.WriteByte(byte(c))
	case end:
		if v.p.strict {
			return v.p.fail("the file ends in a backslash")
		}
		v.odd = true
	default:
		return v.p.fail("unknown escape %q; known are \\\\ \\\" \\n \\t \\b and the end of the line", `\`+string(rune(c)))
	}
	v.p.get()
	return nil
}

// blank tells what git takes for white space within a line.
func blank(c int) bool { return c == ' ' || c == '\t' || c == '\r' }

func letter[C byte | int](c C) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func digit[C byte | int](c C) bool  { return c >= '0' && c <= '9' }
