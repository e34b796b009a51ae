package screen

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// screens are what programs write to 10 by 4, the lines that are to be seen, and
// the cursor as column,row. They were held against tmux 3.3a by hand: 52 of 68
// agree in text and cursor, and the others differ for these reasons. tmux counts
// a pending wrap as column 10, so moving left from it ends one further to the
// right; it shows line drawing as the letters that were written; it leaves what
// stays of a wide character that was cut; it leaves out bytes that are no
// character, and keeps marks of direction; and it knows neither HPR, VPR, DECSTR
// and the new line mode nor CAN within a string.
var screens = []struct {
	what, write string
	lines       []string
	cursor      string
}{
	{"text", "ab\r\ncd", []string{"ab", "cd"}, "2,1"},
	{"a line feed keeps the column", "ab\ncd", []string{"ab", "  cd"}, "4,1"},
	{"a full line waits", "0123456789", []string{"0123456789"}, "9,0"},
	{"and wraps with the next", "0123456789a", []string{"0123456789", "a"}, "1,1"},
	{"a carriage return forgets the wrap", "0123456789\ra", []string{"a123456789"}, "1,0"},
	{"moving does, too", "0123456789\x1b[Da", []string{"01234567a9"}, "9,0"},
	{"without wrapping", "\x1b[?7l0123456789ab", []string{"012345678b"}, "9,0"},
	{"scrolling", "1\r\n2\r\n3\r\n4\r\n5", []string{"2", "3", "4", "5"}, "1,3"},
	{"backspace", "abc\b\bx", []string{"axc"}, "2,0"},
	{"tabs", "a\tb\tc", []string{"a       bc"}, "9,0"},
	{"tab stops", "\x1b[3g\x1b[4G\x1bH\r\ta", []string{"   a"}, "4,0"},
	{"tab back", "\x1b[10G\x1b[Zx", []string{"        x"}, "9,0"},
	{"position", "\x1b[2;3Hx\x1b[Hy\x1b[4;10Hz", []string{"y", "  x", "", "         z"}, "9,3"},
	{"beyond the edge", "\x1b[99;99Hx", []string{"", "", "", "         x"}, "9,3"},
	{"zero is one", "\x1b[0;0Hx\x1b[0Cy", []string{"x y"}, "3,0"},
	{"relative", "\x1b[2B\x1b[3Cx\x1b[A\x1b[2Dy\x1b[Ez\x1b[Fw", []string{"", "w y", "z  x"}, "1,1"},
	{"columns and rows", "\x1b[3Gx\x1b[2dy\x1b[5`z\x1b[e\x1b[aw", []string{"  x", "   yz", "      w"}, "7,2"},
	{"erase to the end", "abcdef\x1b[3G\x1b[K", []string{"ab"}, "2,0"},
	{"erase to the start", "abcdef\x1b[3G\x1b[1K", []string{"   def"}, "2,0"},
	{"erase the line", "abcdef\x1b[2K", []string{""}, "6,0"},
	{"erase below", "ab\r\ncd\r\nef\x1b[2;2H\x1b[J", []string{"ab", "c"}, "1,1"},
	{"erase above", "ab\r\ncd\r\nef\x1b[2;1H\x1b[1J", []string{"", " d", "ef"}, "0,1"},
	{"erase all", "ab\r\ncd\x1b[2J", []string{""}, "2,1"},
	{"erase characters", "abcdef\x1b[2G\x1b[3X", []string{"a   ef"}, "1,0"},
	{"insert characters", "abcdef\x1b[2G\x1b[2@", []string{"a  bcdef"}, "1,0"},
	{"inserted ones push out", "0123456789\x1b[2G\x1b[3@", []string{"0   123456"}, "1,0"},
	{"delete characters", "abcdef\x1b[2G\x1b[2P", []string{"adef"}, "1,0"},
	{"insert mode", "abc\r\x1b[4hxy\x1b[4lz", []string{"xyzbc"}, "3,0"},
	{"insert lines", "1\r\n2\r\n3\x1b[2;1H\x1b[L", []string{"1", "", "2", "3"}, "0,1"},
	{"delete lines", "1\r\n2\r\n3\x1b[1;1H\x1b[M", []string{"2", "3"}, "0,0"},
	{"a region scrolls", "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3;1H\nx", []string{"1", "3", "x", "4"}, "1,2"},
	{"below the region nothing does", "\x1b[1;2r\x1b[4;1Ha\nb", []string{"", "", "", "ab"}, "2,3"},
	{"insert in a region", "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[2;1H\x1b[L", []string{"1", "", "2", "4"}, "0,1"},
	{"scroll up and down", "1\r\n2\r\n3\r\n4\x1b[2S\x1b[T", []string{"", "3", "4"}, "1,3"},
	{"reverse index", "1\r\n2\x1b[H\x1bMx", []string{"x", "1", "2"}, "1,0"},
	{"index and next line", "a\x1bDb\x1bEc", []string{"a", " b", "c"}, "1,2"},
	{"origin", "\x1b[2;3r\x1b[?6h\x1b[1;1Hx\x1b[9;1Hy", []string{"", "x", "y"}, "1,2"},
	{"margins that make no region", "\x1b[3;3r\x1b[3;2rx", []string{"x"}, "1,0"},
	{"save and restore", "ab\x1b7\x1b[3;3Hx\x1b8c", []string{"abc", "", "  x"}, "3,0"},
	{"the alternate grid", "ab\x1b[?1049h\x1b[Hxyz\x1b[?1049lc", []string{"abc"}, "3,0"},
	{"shown", "ab\x1b[?1049hx", []string{"  x"}, "3,0"},
	{"line drawing", "\x1b(0lqk\x1b(Blqk", []string{"┌─┐lqk"}, "6,0"},
	{"by shifting", "\x1b)0a\x0eq\x0fq", []string{"a─q"}, "3,0"},
	{"wide", "a漢字b", []string{"a漢字b"}, "6,0"},
	{"wide at the edge", "123456789漢", []string{"123456789", "漢"}, "2,1"},
	{"half of a wide one", "漢字\x1b[2Gx", []string{" x字"}, "2,0"},
	{"the other half", "漢字\x1b[1Gx", []string{"x 字"}, "1,0"},
	{"erasing half", "漢字\x1b[2G\x1b[X", []string{"  字"}, "1,0"},
	{"deleting half", "漢字x\x1b[2G\x1b[P", []string{" 字x"}, "1,0"},
	{"combining", "e\u0301x", []string{"e\u0301x"}, "2,0"},
	{"combining at the edge", "123456789e\u0301x", []string{"123456789e\u0301", "x"}, "1,1"},
	{"combining a wide one", "漢\u0301x", []string{"漢\u0301x"}, "3,0"},
	{"emoji", "😀x", []string{"😀x"}, "3,0"},
	{"no character", "a\xffb\xe6\xbcc", []string{"a\ufffdb\ufffdc"}, "5,0"},
	{"directions are left out", "a\u202eb\u2028c", []string{"abc"}, "3,0"},
	{"encoded controls, too", "a\u009b5mb", []string{"a5mb"}, "4,0"},
	{"repeat", "ab\x1b[3bc", []string{"abbbbc"}, "6,0"},
	{"colours leave no trace", "\x1b[1;31;48;5;7;38:2::1:2:3ma\x1b[mb", []string{"ab"}, "2,0"},
	{"nor does a title", "\x1b]0;ti\x07a\x1b]2;tle\x1b\\b", []string{"ab"}, "2,0"},
	{"strings are skipped", "a\x1bPq#0;2\x1b\\b\x1b_x\x1b\\c\x1b]8;;http://x\x1b\\d", []string{"abcd"}, "4,0"},
	{"a string may be cancelled", "a\x1bPxxx\x18b", []string{"ab"}, "2,0"},
	{"by a sequence, too", "a\x1b]0;xxx\x1b[2Cb", []string{"a  b"}, "4,0"},
	{"controls in a sequence", "ab\x1b[\b1Kx", []string{" x"}, "2,0"},
	{"sequences that are unknown", "a\x1b[>4;2m\x1b[?2026h\x1b[=1;1u\x1b[?1$pb\x1b[1 qc\x1b%Gd", []string{"abcd"}, "4,0"},
	{"reset", "ab\x1b[4h\x1b[31m\x1b[2;3r\x1bcx", []string{"x"}, "1,0"},
	{"soft reset", "ab\x1b[4h\x1b[2;3r\x1b[!p\rx", []string{"xb"}, "1,0"},
	{"alignment", "\x1b#8", []string{"EEEEEEEEEE", "EEEEEEEEEE", "EEEEEEEEEE", "EEEEEEEEEE"}, "0,0"},
	{"new line mode", "\x1b[20hab\nc", []string{"ab", "c"}, "1,1"},
}

func TestScreens(t *testing.T) {
	for _, c := range screens {
		for _, size := range []int{len(c.write), 1} { // at once, and byte by byte
			s := New(10, 4, 10)
			for piece := range slices.Chunk([]byte(c.write), size) {
				_, _ = s.Write(piece)
			}
			want := append(slices.Clone(c.lines), make([]string, 4-len(c.lines))...)
			if got := s.Lines(); !slices.Equal(got, want) || at(s) != c.cursor {
				t.Errorf("%s: %q\n got %q at %s\nwant %q at %s", c.what, c.write, got, at(s), want, c.cursor)
			}
		}
	}
}

func at(s *Screen) string {
	x, y, _ := s.Cursor()
	return fmt.Sprintf("%d,%d", x, y)
}

func write(cols, rows int, text string) *Screen {
	s := New(cols, rows, 5)
	_, _ = s.Write([]byte(text))
	return s
}

func TestScrollbackIsBounded(t *testing.T) {
	s := write(10, 2, "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9")
	if got := strings.Join(s.Scrollback(), " "); got != "3 4 5 6 7" {
		t.Error(got)
	}
	_, _ = s.Write([]byte("\x1b[?1049h\n\n\n\n\x1b[?1049l\x1b[H\x1b[2M"))
	if got := strings.Join(s.Scrollback(), " "); got != "3 4 5 6 7" {
		t.Error("the alternate grid and deleted lines do not belong there:", got)
	}
	_, _ = s.Write([]byte("\x1b[3J"))
	if got := s.Scrollback(); len(got) != 0 {
		t.Error(got)
	}
}

func TestAnswers(t *testing.T) {
	for write1, want := range map[string]string{
		"\x1b[5n": "\x1b[0n", "ab\x1b[6n": "\x1b[1;3R", "ab\x1b[?6n": "\x1b[?1;3R", "\x1b[c": "\x1b[?62;22c", "\x1b[0c": "\x1b[?62;22c",
		"\x1b[>c": "\x1b[>1;10;0c", "\x1b[2;4r\x1b[?6h\x1b[2;2H\x1b[6n": "\x1b[2;2R", "\x1b[?5n\x1b[7n": "",
	} {
		s := write(10, 4, write1)
		if got := string(s.Answers()); got != want {
			t.Errorf("%q: %q, want %q", write1, got, want)
		}
		if s.Answers() != nil {
			t.Error("answers are given twice")
		}
	}
	if got := write(10, 4, strings.Repeat("\x1b[c", 10000)).Answers(); len(got) > maxAnswers || !strings.HasSuffix(string(got), "c") {
		t.Errorf("%d bytes", len(got))
	}
}

func TestTitles(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b]0;a b\x07": "a b", "\x1b]2;ä;b\x1b\\": "ä;b", "\x1b]1;icon\x07": "", "\x1b]2;a\xff\u202e\u009bb\x07": "ab",
		"\x1b]2;never ended": "", "\x1b]2;x\x1b[m": "", "\x1b]2;" + strings.Repeat("x", 1<<20) + "\x07": strings.Repeat("x", maxTitle),
	} {
		if got := write(10, 4, text).Title(); got != want {
			t.Errorf("%.40q: %.40q, want %.40q", text, got, want)
		}
	}
}

func TestResize(t *testing.T) {
	for _, c := range []struct {
		write      string
		cols, rows int
		want, back string
		cursor     string
	}{
		{"ab\r\ncd", 10, 2, "ab|cd", "", "2,1"},
		{"1\r\n2\r\n3\r\n4", 10, 2, "3|4", "1|2", "1,1"},
		{"1\r\n2\r\n3\r\n4\x1b[H", 10, 2, "1|2", "", "0,0"},
		{"1\r\n2\r\n3\r\n4", 10, 6, "1|2|3|4||", "", "1,3"},
		{"0123456789", 5, 4, "01234|||", "", "4,0"},
		{"123漢", 4, 4, "123|||", "", "3,0"},
		{"ab\x1b[?1049h1\r\n2\r\n3\r\n4", 10, 2, "3|4", "", "1,1"},
		{"a", 0, 0, "a", "", "0,0"},
	} {
		s := write(10, 4, c.write)
		s.Resize(c.cols, c.rows)
		if got, back := strings.Join(s.Lines(), "|"), strings.Join(s.Scrollback(), "|"); got != c.want || back != c.back || at(s) != c.cursor {
			t.Errorf("%q to %d by %d: %q after %q at %s, want %q after %q at %s", c.write, c.cols, c.rows, got, back, at(s), c.want, c.back, c.cursor)
		}
	}
	s := New(1<<30, -5, -1)
	if cols, rows := s.Size(); cols != MaxCols || rows != 1 {
		t.Error(cols, rows)
	}
}

func TestColours(t *testing.T) {
	for sgr, want := range map[string]style{
		"1;31":                {fg: paletteColour | 1, flags: bold},
		"97;100":              {fg: paletteColour | 15, bg: paletteColour | 8},
		"38;5;200;4":          {fg: paletteColour | 200, flags: underline},
		"38;2;1;2;3;48;5;9":   {fg: rgbColour | 0x10203, bg: paletteColour | 9},
		"38:2::1:2:3;7":       {fg: rgbColour | 0x10203, flags: reverse},
		"38:2:1:2:3":          {fg: rgbColour | 0x10203},
		"48:5:17;3":           {bg: paletteColour | 17, flags: italic},
		"58;5;1;9":            {flags: strike},
		"58:2::1:2:3;9":       {flags: strike},
		"4:3;1":               {flags: underline | bold},
		"4;4:0":               {},
		"1;2;3;22":            {flags: italic},
		"1;0":                 {},
		"1;":                  {},
		"31;39;41;49":         {},
		"38;5":                {},
		"38;2;1;2":            {},
		"38:5":                {},
		"38;5;300":            {},
		"38;2;300;0;0":        {fg: rgbColour | 0xff0000},
		"38":                  {},
		"99999999999999999;1": {flags: bold},
	} {
		if got := write(10, 4, "\x1b["+sgr+"m").page.cur.style; got != want {
			t.Errorf("%s: %+v, want %+v", sgr, got, want)
		}
	}
}
