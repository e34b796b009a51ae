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
	if r >= 0x5f && r <= 0x7e && s.cur.lines[s.cur.shift] {
		r = drawing[r-0x5f]
	}
	w := columns(r)
	if w == 0 {
		if unicode.In(r, unicode.Mn, unicode.Me) || r == zeroWidthJoiner || r == zeroWidthNonJoiner || r < 0x1200 && r >= 0x1160 {
			s.join(r)
		}
		return
	}
	c := &s.cur
	if c.pending || c.x+w > s.cols {
		if s.modes.noWrap || w > s.cols {
			if w > 1 {
				return // half of it would be nothing
			}
		} else {
			s.wrap()
		}
	}
	l := s.line()
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
	if c.x >= s.cols {
		c.x, c.pending = s.cols-1, !s.modes.noWrap
	}
}

func (s *Screen) wrap() {
	s.cur.x, s.cur.pending = 0, false
	s.index()
}

// join adds a combining character to the one before the cursor.
func (s *Screen) join(r rune) {
	x := s.cur.x
	if !s.cur.pending {
		x--
	}
	l := s.line()
	if x > 0 && l[x].tail {
		x--
	}
	if x >= 0 && l[x].char != 0 && len(l[x].marks)+len(string(r)) <= maxMarks {
		l[x].marks += string(r)
	}
}

// control is a byte below 0x20.
func (s *Screen) control(c byte) {
	switch c {
	case '\b':
		s.column(s.cur.x - 1)
	case '\t':
		s.tab(1)
	case '\n', '\v', '\f':
		s.cur.pending = false
		if s.modes.newline {
			s.cur.x = 0
		}
		s.index()
	case '\r':
		s.column(0)
	case 0x0e:
		s.cur.shift = 1
	case 0x0f:
		s.cur.shift = 0
	}
}

// column sets the cursor within its line.
func (s *Screen) column(x int) { s.cur.x, s.cur.pending = clamp(x, 0, s.cols-1), false }

// place sets the cursor; in origin mode lines are counted from the upper margin,
// and the cursor stays within both.
func (s *Screen) place(x, y int) {
	s.column(x)
	if s.cur.origin {
		s.cur.y = clamp(s.top+y, s.top, s.bottom)
	} else {
		s.cur.y = clamp(y, 0, s.rows-1)
	}
}

// row is the cursor's line as a program counts it.
func (s *Screen) row() int {
	if s.cur.origin {
		return s.cur.y - s.top
	}
	return s.cur.y
}

// vertical moves the cursor by lines, and not past a margin that it is within.
func (s *Screen) vertical(n int) {
	low, high := 0, s.rows-1
	if s.cur.y >= s.top {
		low = s.top
	}
	if s.cur.y <= s.bottom {
		high = s.bottom
	}
	s.cur.y, s.cur.pending = clamp(s.cur.y+n, low, high), false
}

// tab goes to the n-th stop to the right, or to the left.
func (s *Screen) tab(n int) {
	step, x := 1, s.cur.x
	if n < 0 {
		step, n = -1, -n
	}
	for n = min(n, s.cols); n > 0; n-- {
		x += step
		for x > 0 && x < s.cols-1 && !s.tabs[x] {
			x += step
		}
		x = clamp(x, 0, s.cols-1)
	}
	s.column(x)
}

// index goes down a line, and scrolls at the lower margin.
func (s *Screen) index() {
	switch {
	case s.cur.y == s.bottom:
		s.scrollUp(s.top, 1, true)
	case s.cur.y < s.rows-1:
		s.cur.y++
	}
}

// reverseIndex goes up a line, and scrolls at the upper margin.
func (s *Screen) reverseIndex() {
	s.cur.pending = false
	switch {
	case s.cur.y == s.top:
		s.scrollDown(s.top, 1)
	case s.cur.y > 0:
		s.cur.y--
	}
}

// scrollUp takes n lines away at top and adds blank ones at the lower margin.
// What leaves at the main grid's first line is kept, unless it was deleted.
func (s *Screen) scrollUp(top, n int, keep bool) {
	g := s.lines()
	n = min(n, s.bottom-top+1)
	for range n {
		l := g[top]
		if keep && top == 0 && !s.alternate {
			s.keep(l)
		}
		copy(g[top:], g[top+1:s.bottom+1])
		l.erase(0, s.cols, s.cur.style)
		g[s.bottom] = l
	}
}

// scrollDown takes n lines away at the lower margin and adds blank ones at top.
func (s *Screen) scrollDown(top, n int) {
	g := s.lines()
	n = min(n, s.bottom-top+1)
	for range n {
		l := g[s.bottom]
		copy(g[top+1:], g[top:s.bottom])
		l.erase(0, s.cols, s.cur.style)
		g[top] = l
	}
}

// inMargins tells whether lines may be inserted and deleted at the cursor.
func (s *Screen) inMargins() bool { return s.cur.y >= s.top && s.cur.y <= s.bottom }

func (s *Screen) save() { s.saved[s.which()] = s.cur }

func (s *Screen) restore() {
	s.cur = s.saved[s.which()]
	if s.cur.origin {
		s.cur.y = clamp(s.cur.y, s.top, s.bottom)
	}
	if s.modes.noWrap {
		s.cur.pending = false
	}
}

// switchTo shows the alternate grid or the main one.
func (s *Screen) switchTo(alternate bool) {
	if alternate && s.other == nil {
		s.other = grid(s.cols, s.rows)
	}
	s.alternate = alternate
	s.cur.pending = false
}

// clear erases the whole grid that is shown.
func (s *Screen) clear() {
	for _, l := range s.lines() {
		l.erase(0, s.cols, s.cur.style)
	}
}
