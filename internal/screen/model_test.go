package screen

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// paper is a simple model of a screen for text of one column a character: it wraps, scrolls,
// moves and erases, and has no margins, modes or looks.
type paper struct {
	cells   [][]rune
	x, y    int
	pending bool
	gone    []string // lines that have left at the top
}

func newPaper(cols, rows int) *paper {
	p := &paper{}
	for range rows {
		p.cells = append(p.cells, slices.Repeat([]rune{' '}, cols))
	}
	return p
}

func (p *paper) lines() []string {
	var out []string
	for _, l := range p.cells {
		out = append(out, strings.TrimRight(string(l), " "))
	}
	return out
}

func (p *paper) down() {
	p.pending = false
	if p.y < len(p.cells)-1 {
		p.y++
		return
	}
	p.gone = append(p.gone, p.lines()[0])
	p.cells = append(p.cells[1:], slices.Repeat([]rune{' '}, len(p.cells[0])))
}

func (p *paper) print(r rune) {
	if p.pending {
		p.x = 0
		p.down()
	}
	p.cells[p.y][p.x] = r
	if p.pending = p.x == len(p.cells[0])-1; !p.pending {
		p.x++
	}
}

func (p *paper) to(x, y int) {
	p.pending = false
	p.x, p.y = max(0, min(x, len(p.cells[0])-1)), max(0, min(y, len(p.cells)-1))
}

// erase blanks the places from one to another, counted through all lines. As in xterm a line
// that was full waits no more.
func (p *paper) erase(from, upto int) {
	p.pending = false
	for i := from; i < upto; i++ {
		p.cells[i/len(p.cells[0])][i%len(p.cells[0])] = ' '
	}
}

// step draws something that a program may write, and does it on the paper.
func (p *paper) step(t *rapid.T) string {
	cols, at := len(p.cells[0]), p.y*len(p.cells[0])+p.x
	n := rapid.IntRange(0, 6).Draw(t, "n")
	one := max(n, 1) // what 0 means where things are counted
	kinds := []string{"text", "text", "text", "return", "down", "back", "place", "move", "line", "screen", "tab"}
	switch rapid.SampledFrom(kinds).Draw(t, "step") {
	case "text":
		text := rapid.StringMatching(`[a-e ]{1,7}`).Draw(t, "text")
		for _, r := range text {
			p.print(r)
		}
		return text
	case "return":
		p.to(0, p.y)
		return "\r"
	case "down":
		p.down()
		return "\n"
	case "back":
		p.to(p.x-1, p.y)
		return "\b"
	case "place":
		m := rapid.IntRange(0, 12).Draw(t, "m")
		p.to(max(m, 1)-1, one-1)
		return fmt.Sprintf("\x1b[%d;%dH", n, m)
	case "move":
		way := rapid.SampledFrom([]string{"A", "B", "C", "D"}).Draw(t, "way")
		by := map[string][2]int{"A": {0, -1}, "B": {0, 1}, "C": {1, 0}, "D": {-1, 0}}[way]
		p.to(p.x+one*by[0], p.y+one*by[1])
		return fmt.Sprintf("\x1b[%d%s", n, way)
	case "line":
		kind := n % 3
		from := []int{at, at - p.x, at - p.x}[kind]
		p.erase(from, []int{at - p.x + cols, at + 1, at - p.x + cols}[kind])
		return fmt.Sprintf("\x1b[%dK", kind)
	case "screen":
		kind := n % 3
		p.erase([]int{at, 0, 0}[kind], []int{cols * len(p.cells), at + 1, cols * len(p.cells)}[kind])
		return fmt.Sprintf("\x1b[%dJ", kind)
	}
	p.to((p.x/8+1)*8, p.y)
	return "\t"
}

// TestScreenIsLikePaper holds the screen to the model, in pieces of one byte and as a whole.
func TestScreenIsLikePaper(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cols, rows := rapid.IntRange(1, 12).Draw(t, "cols"), rapid.IntRange(1, 5).Draw(t, "rows")
		p, s, slow := newPaper(cols, rows), New(cols, rows, MaxScrollback), New(cols, rows, MaxScrollback)
		said := ""
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			text := p.step(t)
			said += text
			_, _ = s.Write([]byte(text))
			for i := range len(text) {
				_, _ = slow.Write([]byte{text[i]})
			}
			x, y, _ := s.Cursor()
			if !slices.Equal(s.Lines(), p.lines()) || !slices.Equal(s.Scrollback(), p.gone) || x != p.x || y != p.y {
				t.Fatalf("%q:\n%q, cursor %d,%d, gone %q\nwant\n%q, cursor %d,%d, gone %q",
					said, s.Lines(), x, y, s.Scrollback(), p.lines(), p.x, p.y, p.gone)
			}
		}
		if !reflect.DeepEqual(s.page, slow.page) {
			t.Errorf("%q is another screen, byte by byte", said)
		}
	})
}

// TestRowsAreKept: with fewer rows lines leave into the scrollback, and none is lost or
// changes its order; with more rows the text stays where it is.
func TestRowsAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New(8, rapid.IntRange(1, 6).Draw(t, "rows"), 100)
		var want []string
		for i := range rapid.IntRange(1, 9).Draw(t, "lines") {
			want = append(want, fmt.Sprintf("line %d", i))
		}
		_, _ = s.Write([]byte(strings.Join(want, "\r\n")))
		for range 4 {
			s.Resize(8, rapid.IntRange(1, 6).Draw(t, "rows"))
			got := append(s.Scrollback(), s.Lines()...)
			for len(got) > 0 && got[len(got)-1] == "" {
				got = got[:len(got)-1]
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%q, want %q", got, want)
			}
		}
	})
}

// TestLooksAreSetFromAny: the sequence of a style makes it of any other style.
func TestLooksAreSetFromAny(t *testing.T) {
	of := func(kind, most uint32) *rapid.Generator[uint32] {
		return rapid.Map(rapid.Uint32Range(0, most), func(n uint32) uint32 { return kind | n })
	}
	colour := rapid.OneOf(rapid.Just(uint32(0)), of(paletteColour, 255), of(rgbColour, 0xffffff))
	looks := rapid.Custom(func(t *rapid.T) style {
		return style{fg: colour.Draw(t, "fg"), bg: colour.Draw(t, "bg"), flags: rapid.Uint16Range(0, underline2<<1-1).Draw(t, "flags")}
	})
	rapid.Check(t, func(t *rapid.T) {
		s, want := New(2, 1, 0), looks.Draw(t, "style")
		s.page.cur.style = looks.Draw(t, "before")
		_, _ = s.Write([]byte(want.sequence()))
		if s.page.cur.style != want {
			t.Errorf("%q makes %+v, want %+v", want.sequence(), s.page.cur.style, want)
		}
	})
}

// TestPastedTextIsNoKey: whatever is pasted ends no brackets and types no control character
// but Enter and Tab; of other text nothing is lost.
func TestPastedTextIsNoKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"a", "\u00e4", "\x1b", "\x1b[201~", "\r\n", "\n", "\r", "\t", "\x03", "\x9b", "\xff", "\u0085",
			"\x00", "\x7f"})
		text := strings.Join(rapid.SliceOf(piece).Draw(t, "text"), "")
		plain, bracketed := New(5, 2, 0), New(5, 2, 0)
		_, _ = bracketed.Write([]byte("\x1b[?2004h"))
		got := string(plain.Paste(text))
		if string(bracketed.Paste(text)) != "\x1b[200~"+got+"\x1b[201~" {
			t.Errorf("%q in brackets is %q", text, bracketed.Paste(text))
		}
		if strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\r' && r != '\t' }) || !utf8.ValidString(got) {
			t.Errorf("%q is pasted as %q", text, got)
		}
		for _, letter := range []string{"a", "\u00e4", "[201~"} {
			if strings.Count(got, letter) != strings.Count(text, letter) {
				t.Errorf("of %q there is %q", text, got)
			}
		}
	})
}
