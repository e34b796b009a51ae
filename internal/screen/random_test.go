package screen

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// pieces are what random programs are made of.
var pieces = rapid.OneOf(
	rapid.SampledFrom([]string{
		"a", "漢", "e\u0301", "\u0301", "q", "0123456789", "\r", "\n", "\b", "\t", "\x0e", "\x0f", "\x1b", "\x1b[", "\x1b]", "\x18", ";", ":",
		"\x1b7", "\x1b8", "\x1bD", "\x1bE", "\x1bM", "\x1bH", "\x1bc", "\x1b(0", "\x1b(B", "\x1b)0", "\x1b=", "\x1b>", "\x1b#8", "\x1b[!p",
		"\x1b[?1049h", "\x1b[?1049l", "\x1b[?47h", "\x1b[?47l", "\x1b[?1047h", "\x1b[?1047l", "\x1b[4h", "\x1b[4l", "\x1b[?7l", "\x1b[?7h", "\x1b[?6h", "\x1b[?6l", "\x1b[2;3r", "\x1b[2;9r",
		"\x1b[?25l", "\x1b[?1h", "\x1b[?2004h", "\x1b[?1006h", "\x1b[20h", "\x1b[3g", "\x1b[1;31m", "\x1b[48;5;7m", "\x1b[38;2;1;2;3m", "\x1b[m", "\x1b]2;title\x07", "\xff", "\xe6\xbc",
	}),
	rapid.Custom(func(t *rapid.T) string {
		number := rapid.SampledFrom([]string{"", "0", "1", "2", "3", "5", "9", "99999"})
		return "\x1b[" + number.Draw(t, "n") + rapid.SampledFrom([]string{"", ";"}).Draw(t, "semicolon") + number.Draw(t, "m") +
			string(rune(rapid.IntRange('@', '~').Draw(t, "end")))
	}),
)

func TestRandomProgramsAndRedraw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New(rapid.IntRange(1, 12).Draw(t, "cols"), rapid.IntRange(1, 6).Draw(t, "rows"), 3)
		for range rapid.IntRange(1, 4).Draw(t, "parts") {
			_, _ = s.Write([]byte(strings.Join(rapid.SliceOfN(pieces, 10, 80).Draw(t, "text"), "")))
			sound(t, s)
			if rapid.Bool().Draw(t, "resize") {
				s.Resize(rapid.IntRange(1, 12).Draw(t, "cols"), rapid.IntRange(1, 6).Draw(t, "rows"))
				sound(t, s)
			}
		}
		redrawn(t, s)
	})
}

type failing interface{ Fatalf(string, ...any) }

// sound holds what must be true of every screen.
func sound(t failing, s *Screen) {
	cols, rows := s.Size()
	for _, c := range []cursor{s.page.cur, s.page.saved[0], s.page.saved[1]} {
		if c.x < 0 || c.x >= cols || c.y < 0 || c.y >= rows || c.pending && c.x != cols-1 {
			t.Fatalf("cursor %+v on %d by %d", c, cols, rows)
		}
	}
	if s.page.top < 0 || s.page.bottom >= rows || s.page.top > s.page.bottom || len(s.page.tabs) != cols || len(s.page.back.lines) > s.page.back.max {
		t.Fatalf("margins %d to %d, %d tabs, %d lines kept", s.page.top, s.page.bottom, len(s.page.tabs), len(s.page.back.lines))
	}
	for _, g := range [][]line{s.page.main, s.page.other} {
		if g != nil && len(g) != rows {
			t.Fatalf("%d lines, want %d", len(g), rows)
		}
		for _, l := range g {
			if len(l) != cols {
				t.Fatalf("%d columns, want %d", len(l), cols)
			}
			for x, c := range l {
				if wide := c.char != 0 && columns(c.char) == 2; wide != (x+1 < len(l) && l[x+1].tail) || c.tail && (x == 0 || c.char != 0) || len(c.marks) > maxMarks {
					t.Fatalf("column %d of %q is %+v", x, l.text(), c)
				}
			}
		}
	}
	for _, text := range append(s.Lines(), s.Scrollback()...) {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
			t.Fatalf("the line %q", text)
		}
	}
}

// redrawn holds that a screen that was painted is the same, and goes on as this
// one does.
func redrawn(t failing, s *Screen) {
	s.parser = parser{} // what was begun is not on the screen
	other := New(s.page.cols, s.page.rows, s.page.back.max)
	_, _ = other.Write(s.Redraw())
	sound(t, other)
	for _, more := range []string{"", "ab漢q\x1b[99Cxyz\n\tx", "\x1b8x\x1b[?1049l\x1b8y\nz"} {
		_, _ = s.Write([]byte(more))
		_, _ = other.Write([]byte(more))
		x, y, shown := s.Cursor()
		if x2, y2, shown2 := other.Cursor(); x != x2 || y != y2 || shown != shown2 || !slices.Equal(s.Lines(), other.Lines()) || s.Title() != other.Title() {
			t.Fatalf("after %q\n%q at %d,%d %v is redrawn as\n%q at %d,%d %v", more, s.Lines(), x, y, shown, other.Lines(), x2, y2, shown2)
		}
		if s.modes != other.modes || s.page.noWrap != other.page.noWrap || s.page.cur != other.page.cur || !reflect.DeepEqual(s.page.tabs, other.page.tabs) {
			t.Fatalf("after %q %+v %+v is redrawn as %+v %+v", more, s.modes, s.page.cur, other.modes, other.page.cur)
		}
	}
}

func FuzzScreen(f *testing.F) {
	for _, c := range screens {
		f.Add([]byte(c.write), uint8(10), uint8(4))
	}
	f.Fuzz(func(t *testing.T, b []byte, cols, rows uint8) {
		s := New(int(cols%40), int(rows%20), 10)
		_, _ = s.Write(b)
		sound(t, s)
		s.Resize(int(rows%50), int(cols%30))
		_, _ = s.Write(b)
		sound(t, s)
		redrawn(t, s)
	})
}

func BenchmarkWrite(b *testing.B) {
	s := New(80, 24, 1000)
	text := []byte(strings.Repeat("\x1b[32mok\x1b[m   carrel/internal/screen  0.123s (cached)\r\n", 1000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, _ = s.Write(text)
	}
}
