package screen

import "fmt"

// escape is ESC and one byte.
func (s *Screen) escape(c byte) {
	switch c {
	case '7':
		s.save()
	case '8':
		s.restore()
	case 'D':
		s.cur.pending = false
		s.index()
	case 'E':
		s.column(0)
		s.index()
	case 'H':
		s.tabs[s.cur.x] = true
	case 'M':
		s.reverseIndex()
	case 'c':
		s.reset()
	case '=':
		s.modes.appKeypad = true
	case '>':
		s.modes.appKeypad = false
	}
}

// escapeMiddle is ESC, a byte that says what is meant, and one that says which.
func (s *Screen) escapeMiddle(middle, c byte) {
	switch middle {
	case '(', ')':
		s.cur.lines[middle-'('] = c == '0'
	case '#':
		if c == '8' { // DECALN: a pattern to adjust the picture by
			s.top, s.bottom = 0, s.rows-1
			s.cur.origin = false
			s.place(0, 0)
			for _, l := range s.lines() {
				for x := range l {
					l[x] = cell{char: 'E'}
				}
			}
		}
	}
}

// sequence is a CSI that ends in c.
func (s *Screen) sequence(c byte) {
	p := &s.parser
	switch {
	case p.middle == '!' && c == 'p':
		s.softReset()
	case p.middle != 0:
	case p.prefix == '?':
		s.private(c)
	case p.prefix == '>' && c == 'c':
		s.answer("\x1b[>1;10;0c")
	case p.prefix != 0:
	case c >= '`':
		s.lower(c)
	default:
		if !s.movement(c) {
			s.editing(c)
		}
	}
}

// movement are the sequences that only move the cursor.
func (s *Screen) movement(c byte) bool {
	n := s.count()
	switch c {
	case 'A':
		s.vertical(-n)
	case 'B':
		s.vertical(n)
	case 'C':
		s.column(s.cur.x + n)
	case 'D':
		s.column(s.cur.x - n)
	case 'E':
		s.vertical(n)
		s.column(0)
	case 'F':
		s.vertical(-n)
		s.column(0)
	case 'G':
		s.column(n - 1)
	case 'H':
		s.place(max(s.number(1, 1), 1)-1, n-1)
	case 'I':
		s.tab(n)
	case 'Z':
		s.tab(-n)
	default:
		return false
	}
	return true
}

// editing are the sequences that change text.
func (s *Screen) editing(c byte) {
	n, x, l, look := s.count(), s.cur.x, s.line(), s.cur.style
	switch c {
	case 'J':
		s.eraseDisplay(s.number(0, 0))
	case 'K':
		s.eraseLine(s.number(0, 0))
	case '@':
		s.cur.pending = false
		l.insert(x, n, look)
	case 'P':
		s.cur.pending = false
		l.remove(x, n, look)
	case 'X':
		s.cur.pending = false
		l.erase(x, min(x+n, s.cols), look)
	case 'L':
		if s.inMargins() {
			s.scrollDown(s.cur.y, n)
			s.column(0)
		}
	case 'M':
		if s.inMargins() {
			s.scrollUp(s.cur.y, n, false)
			s.column(0)
		}
	case 'S':
		s.scrollUp(s.top, n, true)
	case 'T':
		if len(s.parser.params) == 1 { // with five it is about the mouse
			s.scrollDown(s.top, n)
		}
	}
}

func (s *Screen) eraseLine(which int) {
	s.cur.pending = false
	switch which {
	case 0:
		s.line().erase(s.cur.x, s.cols, s.cur.style)
	case 1:
		s.line().erase(0, s.cur.x+1, s.cur.style)
	case 2:
		s.line().erase(0, s.cols, s.cur.style)
	}
}

func (s *Screen) eraseDisplay(which int) {
	g := s.lines()
	from, upto := 0, 0
	switch which {
	case 0:
		s.eraseLine(0)
		from, upto = s.cur.y+1, s.rows
	case 1:
		s.eraseLine(1)
		upto = s.cur.y
	case 2:
		s.cur.pending = false
		upto = s.rows
	case 3:
		s.back, s.oldest = nil, 0
	}
	for _, l := range g[from:upto] {
		l.erase(0, s.cols, s.cur.style)
	}
}

// lower are the sequences that end in a small letter.
func (s *Screen) lower(c byte) {
	n := s.count()
	switch c {
	case '`':
		s.column(n - 1)
	case 'a':
		s.column(s.cur.x + n)
	case 'b':
		for range min(n, s.cols) { // no more than a line: it costs the program nothing
			s.print(s.last)
		}
	case 'c':
		if s.number(0, 0) == 0 {
			s.answer("\x1b[?62;22c") // a VT220 with colours
		}
	case 'd':
		s.place(s.cur.x, n-1)
	case 'e':
		s.vertical(n)
	case 'f':
		s.place(max(s.number(1, 1), 1)-1, n-1)
	case 'g':
		switch s.number(0, 0) {
		case 0:
			s.tabs[s.cur.x] = false
		case 3:
			clear(s.tabs)
		}
	case 'h', 'l':
		s.ansiModes(c == 'h')
	case 'm':
		s.looks()
	case 'n':
		s.report("")
	case 'r':
		s.margins()
	case 's':
		if s.number(0, -1) < 0 { // with numbers it sets margins at the sides
			s.save()
		}
	case 'u':
		s.restore()
	}
}

// report is DSR.
func (s *Screen) report(private string) {
	switch s.number(0, 0) {
	case 5:
		if private == "" {
			s.answer("\x1b[0n")
		}
	case 6:
		s.answer(fmt.Sprintf("\x1b[%s%d;%dR", private, s.row()+1, s.cur.x+1))
	}
}

// margins is DECSTBM; a region of less than two lines is none.
func (s *Screen) margins() {
	top, bottom := max(s.number(0, 1), 1)-1, s.number(1, s.rows)
	if bottom == 0 || bottom > s.rows {
		bottom = s.rows
	}
	if top < bottom-1 {
		s.top, s.bottom = top, bottom-1
		s.place(0, 0)
	}
}
