package view

import (
	"errors"
	"fmt"
	"strings"
)

// gitEntry is one variable of a Git configuration file.
type gitEntry struct {
	section string // lower case
	sub     string // as written; lower case in the old "[section.sub]" form
	hasSub  bool
	key     string // lower case
	value   string
	noValue bool // "key" without "=", which means true
}

// name is the variable as `git config --list` writes it.
func (e gitEntry) name() string {
	switch {
	case e.hasSub:
		return e.section + "." + e.sub + "." + e.key
	case e.section == "": // before the first section header
		return e.key
	}
	return e.section + "." + e.key
}

var errGitSyntax = errors.New("bad syntax")

// parseGitConfig reads the format of git-config(1). A syntax error makes the
// whole file invalid, as it does for Git.
func parseGitConfig(data []byte) ([]gitEntry, error) {
	text := strings.TrimPrefix(string(data), "\xef\xbb\xbf")
	p := gitParser{text: strings.ReplaceAll(text, "\r\n", "\n"), line: 1}
	var list []gitEntry
	for {
		e, more, err := p.next()
		if err != nil {
			return nil, fmt.Errorf("line %d: %w: %s", p.line, errGitSyntax, err)
		}
		if !more {
			return list, nil
		}
		list = append(list, e)
	}
}

// gitParser holds the place in the text and the section in force.
type gitParser struct {
	text string
	pos  int
	line int
	head gitEntry
}

// get returns the next byte; ok is false at the end, which Git treats as an
// end of line.
func (p *gitParser) get() (c byte, ok bool) {
	if p.pos >= len(p.text) {
		p.pos++
		return '\n', false
	}
	c = p.text[p.pos]
	p.pos++
	if c == '\n' {
		p.line++
	}
	return c, true
}

// next returns the next variable.
func (p *gitParser) next() (gitEntry, bool, error) {
	for {
		c, ok := p.get()
		switch {
		case !ok:
			return gitEntry{}, false, nil
		case isGitSpace(c):
		case c == '#' || c == ';':
			p.skipLine()
		case c == '[':
			if err := p.header(); err != nil {
				return gitEntry{}, false, err
			}
		case !isAlpha(c):
			return gitEntry{}, false, fmt.Errorf("want a section or a name, not %q", c)
		default:
			e, err := p.variable(c)
			return e, true, err
		}
	}
}

func (p *gitParser) skipLine() {
	for {
		if c, ok := p.get(); !ok || c == '\n' {
			return
		}
	}
}

// header reads "section]", "section.sub]" or `section "sub"]`.
func (p *gitParser) header() error {
	var name strings.Builder
	for {
		c, ok := p.get()
		switch {
		case !ok:
			return errors.New("a section header without an end")
		case c == ']' && name.Len() == 0:
			return errors.New("a section without a name")
		case c == ']':
			p.setHead(name.String())
			return nil
		case isGitSpace(c):
			return p.subsection(name.String(), c)
		case !isAlnum(c) && c != '-' && c != '.':
			return fmt.Errorf("%q in a section header", c)
		default:
			name.WriteByte(lower(c))
		}
	}
}

// setHead splits the old form at the first dot.
func (p *gitParser) setHead(name string) {
	section, sub, dotted := strings.Cut(name, ".")
	p.head = gitEntry{section: section, sub: sub, hasSub: dotted}
}

// subsection reads `"sub"]` after the blank c.
func (p *gitParser) subsection(section string, c byte) error {
	for isGitSpace(c) {
		if c == '\n' {
			return errors.New("a section header without an end")
		}
		c, _ = p.get()
	}
	if c != '"' {
		return fmt.Errorf("%q in a section header where a quote belongs", c)
	}
	var sub strings.Builder
	for {
		c, ok := p.get()
		if ok && c == '\\' {
			c, ok = p.get()
		} else if c == '"' {
			break
		}
		if !ok || c == '\n' {
			return errors.New("a subsection without an end")
		}
		sub.WriteByte(c)
	}
	if c, _ := p.get(); c != ']' {
		return fmt.Errorf("%q behind a subsection where ']' belongs", c)
	}
	p.setHead(section)
	if p.head.hasSub { // [a.b "c"] is section a, subsection b.c
		p.head.sub += "." + sub.String()
	} else {
		p.head.sub, p.head.hasSub = sub.String(), true
	}
	return nil
}

// variable reads the rest of a name that starts with c, and its value.
func (p *gitParser) variable(c byte) (gitEntry, error) {
	e := p.head
	key := strings.Builder{}
	key.WriteByte(lower(c))
	c, _ = p.get()
	for ; isAlnum(c) || c == '-'; c, _ = p.get() {
		key.WriteByte(lower(c))
	}
	e.key = key.String()
	for c == ' ' || c == '\t' {
		c, _ = p.get()
	}
	if c == '\n' {
		e.noValue = true
		return e, nil
	}
	if c != '=' {
		return e, fmt.Errorf("%q behind the name %q", c, e.key)
	}
	value, err := p.value()
	e.value = value
	return e, err
}

// value reads up to the end of the line, with quotes, escapes, comments and
// continued lines. Blanks at both ends fall away, inner ones stay.
func (p *gitParser) value() (string, error) {
	var b strings.Builder
	var blanks []byte // seen, to be kept if something follows
	quoted := false
	for {
		c, _ := p.get()
		switch {
		case c == '\n':
			if quoted {
				return "", errors.New("a quote without an end")
			}
			return b.String(), nil
		case isGitSpace(c) && !quoted:
			if b.Len() > 0 {
				blanks = append(blanks, c)
			}
			continue
		case !quoted && (c == '#' || c == ';'):
			p.skipLine()
			return b.String(), nil
		}
		b.Write(blanks)
		blanks = blanks[:0]
		switch c {
		case '"':
			quoted = !quoted
		case '\\':
			if err := p.escape(&b); err != nil {
				return "", err
			}
		default:
			b.WriteByte(c)
		}
	}
}

func (p *gitParser) escape(b *strings.Builder) error {
	c, _ := p.get()
	switch c {
	case '\n': // a continued line; the end of the file counts as one
	case 't':
		b.WriteByte('\t')
	case 'b':
		b.WriteByte('\b')
	case 'n':
		b.WriteByte('\n')
	case '\\', '"':
		b.WriteByte(c)
	default:
		return fmt.Errorf("unknown escape %q", `\`+string(rune(c)))
	}
	return nil
}

func isGitSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isAlpha(c byte) bool    { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isAlnum(c byte) bool    { return isAlpha(c) || c >= '0' && c <= '9' }

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
