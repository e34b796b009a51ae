package screen

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// style is how a character looks. A colour is 0 for the default one,
// paletteColour and its number, or rgbColour and its 24 bits.
type style struct {
	fg, bg uint32
	flags  uint16
}

const (
	paletteColour = 1 << 24
	rgbColour     = 2 << 24
)

const (
	bold uint16 = 1 << iota
	faint
	italic
	underline
	blink
	reverse
	conceal
	strike
	underline2
)

// cell is one column of a line. A wide character has a second cell after its
// own, with tail set.
type cell struct {
	style
	tail  bool
	char  rune   // 0 for a cell that was never written, or erased
	marks string // combining characters, at most maxMarks bytes
}

const maxMarks = 16

func (c cell) text() string {
	switch {
	case c.tail:
		return ""
	case c.char == 0:
		return " "
	}
	return string(c.char) + c.marks
}

// line has as many cells as the screen has columns.
type line []cell

func newLine(cols int, s style) line {
	l := make(line, cols)
	l.erase(0, cols, s)
	return l
}

// part makes what is at column x two things: a wide character that lies across
// its left edge is erased.
func (l line) part(x int) {
	if x > 0 && x < len(l) && l[x].tail {
		l[x-1].char, l[x-1].marks = 0, ""
		l[x].char, l[x].tail = 0, false
	}
}

// erase blanks the columns from to upto-1, in the background of a style.
func (l line) erase(from, upto int, s style) {
	l.part(from)
	l.part(upto)
	for x := from; x < upto; x++ {
		l[x] = cell{style: style{bg: s.bg}}
	}
}

// insert moves what is at x and after it n columns to the right.
func (l line) insert(x, n int, s style) {
	n = min(n, len(l)-x)
	l.part(x)
	l.part(len(l) - n)
	copy(l[x+n:], l[x:len(l)-n])
	for i := x; i < x+n; i++ {
		l[i] = cell{style: style{bg: s.bg}}
	}
}

// remove moves what is after x+n n columns to the left.
func (l line) remove(x, n int, s style) {
	n = min(n, len(l)-x)
	l.part(x)
	l.part(x + n)
	copy(l[x:], l[x+n:])
	for i := len(l) - n; i < len(l); i++ {
		l[i] = cell{style: style{bg: s.bg}}
	}
}

// text is a line without the blanks at its end.
func (l line) text() string {
	var b strings.Builder
	for _, c := range l {
		b.WriteString(c.text())
	}
	return strings.TrimRight(b.String(), " ")
}

// columns tells how many a character takes: 0 for one that joins the one
// before, 2 for East Asian wide ones and emoji.
func columns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case r >= 0x1160 && r <= 0x11ff: // vowels and ends of Hangul syllables
		return 0
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
