package screen

import "unicode"

// drawing are the characters from 0x5f to 0x7e in DEC's line drawing set.
var drawing = [...]rune{
	' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼',
	'⎺', '⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
}

// Of the format characters only these join others; those that turn the
// direction of text around would deceive who reads it.
const zeroWidthNonJoiner, zeroWidthJoiner = '\u200c', '\u200d'

// print puts a character at the cursor.
func (s *Screen) print(r rune) {
	if r >= 0x80 && r < 0xa0 || r == 0 || r == '\u2028' || r == '\u2029' {
		return
	}
	if r >= 0x5f && r <= 0x7e && s.page.cur.lines[s.page.cur.shift] {
		r = drawing[r-0x5f]
	}
	w := columns(r)
	if w == 0 {
		if unicode.In(r, unicode.Mn, unicode.Me) || r == zeroWidthJoiner || r == zeroWidthNonJoiner || r < 0x1200 && r >= 0x1160 {
			s.page.join(r)
		}
		return
	}
	c := &s.page.cur
	if c.pending || c.x+w > s.page.cols {
		if s.page.noWrap || w > s.page.cols {
			if w > 1 {
				return // half of it would be nothing
			}
		} else {
			s.page.wrap()
		}
	}
	l := s.page.line()
	if s.modes.insert {
		l.insert(c.x, w, c.style)
	}
	l.part(c.x)
	l.part(c.x + w)
	l[c.x] = cell{style: c.style, char: r}
	if w == 2 {
		l[c.x+1] = cell{style: c.style, tail: true}
	}
	s.last = r
	c.x += w
	if c.x >= s.page.cols {
		c.x, c.pending = s.page.cols-1, !s.page.noWrap
	}
}

// control is a byte below 0x20.
func (s *Screen) control(c byte) {
	switch c {
	case '\b':
		s.page.column(s.page.cur.x - 1)
	case '\t':
		s.page.tab(1)
	case '\n', '\v', '\f':
		s.page.cur.pending = false
		if s.modes.newline {
			s.page.cur.x = 0
		}
		s.page.index()
	case '\r':
		s.page.column(0)
	case 0x0e:
		s.page.cur.shift = 1
	case 0x0f:
		s.page.cur.shift = 0
	}
}
