package screen

import (
	"bytes"
	"fmt"
)

// Redraw gives the bytes that make a fresh terminal of the same size show this
// screen: the main grid, and the alternate one where it is used, modes, tab stops, margins, title and cursor. The scrollback
// is left out. They contain nothing of what the program wrote but printable
// characters.
func (s *Screen) Redraw() []byte {
	var b bytes.Buffer
	if s.title != "" {
		fmt.Fprintf(&b, "\x1b]2;%s\x1b\\", s.title)
	}
	b.WriteString("\x1b[m\x1b[H\x1b[2J")
	s.page.tabs.redraw(&b)
	paint(&b, s.page.main)
	s.page.saved[0].redraw(&b, s.page.main, 0, true)
	if s.page.alternate {
		b.WriteString("\x1b[?47h\x1b[2J")
		paint(&b, s.page.other)
		s.page.saved[1].redraw(&b, s.page.other, 0, true)
	}
	if s.page.top != 0 || s.page.bottom != s.page.rows-1 {
		fmt.Fprintf(&b, "\x1b[%d;%dr", s.page.top+1, s.page.bottom+1)
	}
	s.page.cur.redraw(&b, s.page.lines(), s.page.top, false)
	s.modes.redraw(&b)
	if s.page.noWrap {
		b.WriteString("\x1b[?7l")
	}
	return b.Bytes()
}

// paint draws the lines of a grid, from the upper left.
func paint(b *bytes.Buffer, g []line) {
	var now style
	b.WriteString("\x1b[?6l\x1b(B\x1b)B\x0f\x1b[m")
	for y, l := range g {
		end := len(l)
		for end > 0 && l[end-1] == (cell{}) {
			end--
		}
		if end == 0 {
			continue
		}
		fmt.Fprintf(b, "\x1b[%d;1H", y+1)
		for _, c := range l[:end] {
			if c.tail {
				continue
			}
			if c.style != now {
				b.WriteString(c.style.sequence())
				now = c.style
			}
			b.WriteString(c.text())
		}
	}
	b.WriteString("\x1b[m")
}

func (m *modes) redraw(b *bytes.Buffer) {
	for _, n := range plainModes {
		if *m.plainMode(n) {
			fmt.Fprintf(b, "\x1b[?%dh", n)
		}
	}
	for _, m := range []struct {
		on   bool
		text string
	}{{m.insert, "\x1b[4h"}, {m.newline, "\x1b[20h"}, {m.hidden, "\x1b[?25l"}} {
		if m.on {
			b.WriteString(m.text)
		}
	}
}

// redraw brings the cursor of a grid to where c is, and saves it there if asked to. The
// upper margin is 0 for saved ones, which are put before the margins.
func (c cursor) redraw(b *bytes.Buffer, g []line, top int, save bool) {
	y := c.y
	if c.origin {
		b.WriteString("\x1b[?6h")
		y -= top
	} else {
		b.WriteString("\x1b[?6l")
	}
	fmt.Fprintf(b, "\x1b[%d;%dH", y+1, c.x+1)
	if c.pending { // only writing the last column brings it about
		if last := g[c.y]; last[c.x].tail {
			fmt.Fprintf(b, "\b%s%s", last[c.x-1].style.sequence(), last[c.x-1].text())
		} else {
			fmt.Fprintf(b, "%s%s", last[c.x].style.sequence(), last[c.x].text())
		}
	}
	b.WriteString(c.style.sequence())
	for i, lines := range c.lines {
		fmt.Fprintf(b, "\x1b%c%c", "()"[i], map[bool]byte{true: '0', false: 'B'}[lines])
	}
	b.WriteByte("\x0f\x0e"[c.shift])
	if save {
		b.WriteString("\x1b7\x1b(B\x1b)B\x0f")
	}
}

// sequence is the SGR that makes a style of any other.
func (t style) sequence() string {
	text := "\x1b[0"
	for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 9, 21} {
		if t.flags&attributes[n] != 0 {
			text += fmt.Sprintf(";%d", n)
		}
	}
	return text + colourText(3, t.fg) + colourText(4, t.bg) + "m"
}

func colourText(tens int, c uint32) string {
	switch c &^ 0xffffff {
	case paletteColour:
		return fmt.Sprintf(";%d8;5;%d", tens, c&255)
	case rgbColour:
		return fmt.Sprintf(";%d8;2;%d;%d;%d", tens, c>>16&255, c>>8&255, c&255)
	}
	return ""
}
