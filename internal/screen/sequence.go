package screen

import "fmt"

// escape is ESC and one byte.
func (s *Screen) escape(c byte) {
	switch c {
	case '7':
		s.page.save()
	case '8':
		s.page.restore()
	case 'D':
		s.page.cur.pending = false
		s.page.index()
	case 'E':
		s.page.column(0)
		s.page.index()
	case 'H':
		s.page.tabs[s.page.cur.x] = true
	case 'M':
		s.page.reverseIndex()
	case 'c':
		s.reset()
	case '=':
		s.modes.appKeypad = true
	case '>':
		s.modes.appKeypad = false
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
		if !s.page.movement(p, c) {
			s.page.editing(p, c)
		}
	}
}

// lower are the sequences that end in a small letter.
func (s *Screen) lower(c byte) {
	n := s.parser.count()
	switch c {
	case '`':
		s.page.column(n - 1)
	case 'a':
		s.page.column(s.page.cur.x + n)
	case 'b':
		for range min(n, s.page.cols) { // no more than a line: it costs the program nothing
			s.print(s.last)
		}
	case 'c':
		if s.parser.number(0, 0) == 0 {
			s.answer("\x1b[?62;22c") // a VT220 with colours
		}
	case 'd':
		s.page.place(s.page.cur.x, n-1)
	case 'e':
		s.page.vertical(n)
	case 'f':
		s.page.place(max(s.parser.number(1, 1), 1)-1, n-1)
	case 'g':
		switch s.parser.number(0, 0) {
		case 0:
			s.page.tabs[s.page.cur.x] = false
		case 3:
			clear(s.page.tabs)
		}
	case 'h', 'l':
		for i := range s.parser.params {
			s.modes.ansi(s.parser.number(i, 0), c == 'h')
		}
	case 'm':
		s.parser.looks(&s.page.cur.style)
	case 'n':
		s.report("")
	case 'r':
		s.page.margins(&s.parser)
	case 's':
		if s.parser.number(0, -1) < 0 { // with numbers it sets margins at the sides
			s.page.save()
		}
	case 'u':
		s.page.restore()
	}
}

// report is DSR.
func (s *Screen) report(private string) {
	switch s.parser.number(0, 0) {
	case 5:
		if private == "" {
			s.answer("\x1b[0n")
		}
	case 6:
		s.answer(fmt.Sprintf("\x1b[%s%d;%dR", private, s.page.row()+1, s.page.cur.x+1))
	}
}
