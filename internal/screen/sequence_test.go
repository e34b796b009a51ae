package screen

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestSequencesThatAreNone: what breaks the form of a sequence, or has no end, does nothing,
// costs no more than its bound, and the text after it is text.
func TestSequencesThatAreNone(t *testing.T) {
	for _, c := range []struct{ what, write string }{
		{"a number of any length", "\x1b[" + strings.Repeat("9", 100000) + "X"},
		{"too many parameters", "\x1b[" + strings.Repeat("1;", 1000) + "H\x1b[H"},
		{"a byte that belongs to none", "\x1b[1\x802J"},
		{"two bytes in the middle", "\x1b[1 !p"},
		{"a number after the middle", "\x1b[ 1p"},
		{"a prefix in the middle", "\x1b[1?25l"},
		{"a private mode that is not known", "\x1b[?9999h\x1b[?l"},
		{"with another prefix", "\x1b[<25l\x1b[=1c"},
		{"cancelled", "\x1b[2\x18\x1b[2\x1a"},
		{"begun anew", "\x1b[2\x1b[2\x1b[0m"},
		{"a command to the system", "\x1b]52;c;AAAA\x07\x1b]9999\x07"},
		{"of any length", "\x1b]52;" + strings.Repeat("A", 1<<20) + "\x1b\\"},
		{"a device's own", "\x1bPq#0\x07\x1b\\\x1b_a\x1b\\\x1b^b\x1b\\\x1bXc\x1b\\"},
		{"a character set that is not known", "\x1b(A\x1b*0\x1b%G"},
		{"characters that take part in no line", "\u2028\u2029\u0085\u202e\ufeff"},
	} {
		s := New(5, 2, 0)
		_, _ = s.Write([]byte(c.write + "ok"))
		x, y, shown := s.Cursor()
		if !slices.Equal(s.Lines(), []string{"ok", ""}) || x != 2 || y != 0 || !shown || len(s.Answers()) > 0 || len(s.parser.text) > maxTitle+8 {
			t.Errorf("%s: %q, cursor %d,%d, shown %v, %d bytes are kept", c.what, s.Lines(), x, y, shown, len(s.parser.text))
		}
	}
}

// TestAnswersAreBounded: a program that asks and does not listen costs no memory.
func TestAnswersAreBounded(t *testing.T) {
	s := New(5, 2, 0)
	for range 10000 {
		_, _ = s.Write([]byte("\x1b[6n\x1b[5n\x1b[c"))
	}
	got := s.Answers()
	if len(got) == 0 || len(got) > maxAnswers || !strings.HasPrefix(string(got), "\x1b[1;1R\x1b[0n\x1b[?62;22c") {
		t.Errorf("%d bytes, %.40q", len(got), got)
	}
	_, _ = s.Write([]byte("\x1b[6n"))
	if got := string(s.Answers()); got != "\x1b[1;1R" {
		t.Errorf("after they were taken: %q", got)
	}
}

// TestModes: each mode is switched on and off, is painted on a fresh terminal, and ends with
// a reset.
func TestModes(t *testing.T) {
	for _, n := range plainModes {
		s := New(5, 2, 0)
		on, fresh := s.modes.plainMode(n), New(5, 2, 0)
		set := fmt.Sprintf("\x1b[?%dh", n)
		_, _ = s.Write([]byte(set))
		if _, _ = fresh.Write(s.Redraw()); !*on || !*fresh.modes.plainMode(n) || fresh.modes != s.modes {
			t.Errorf("%d: %v, painted %+v", n, *on, fresh.modes)
		}
		_, _ = s.Write([]byte(fmt.Sprintf("\x1b[?1;%dl", n)))
		if *on {
			t.Errorf("%d is not ended", n)
		}
		for _, end := range []string{"\x1bc", "\x1b[!p"} {
			_, _ = s.Write([]byte(set + end))
			kept := end == "\x1b[!p" && (n >= 1000 && n < 1007 || n == 2004) // as xterm does: how input comes is no look
			if got := *s.modes.plainMode(n); got != kept {
				t.Errorf("%d after %q: %v", n, end, got)
			}
		}
	}
	for write, want := range map[string]modes{
		"\x1b[4h": {insert: true}, "\x1b[20h": {newline: true}, "\x1b[4;20h\x1b[4l": {newline: true}, "\x1b[?25l": {hidden: true},
		"\x1b=":            {appKeypad: true},
		"\x1b[?1000;1006h": {mouse: [3]bool{true}, mouseSGR: true}, "\x1b[?4h": {}, "\x1b[25l": {}, "\x1b=\x1b>": {},
	} {
		if s := write80(write); s.modes != want {
			t.Errorf("%q: %+v, want %+v", write, s.modes, want)
		}
	}
}

func write80(text string) *Screen { return write(80, 24, text) }

// TestColoursOfAllForms: with semicolons and with colons, and a form that is not whole changes
// nothing and takes no number that belongs to another look.
func TestColoursOfAllForms(t *testing.T) {
	for text, want := range map[string]style{
		"31": {fg: paletteColour | 1}, "97": {fg: paletteColour | 15}, "107": {bg: paletteColour | 15}, "38;5;200": {fg: paletteColour | 200},
		"48:5:200": {bg: paletteColour | 200}, "38;2;1;2;3": {fg: rgbColour | 0x010203}, "38:2:1:2:3": {fg: rgbColour | 0x010203},
		"38:2::1:2:3": {fg: rgbColour | 0x010203}, "38;2;999;0;0": {fg: rgbColour | 0xff0000}, "38;5;1;1": {fg: paletteColour | 1, flags: bold},
		"38;5;256": {}, "38;5": {}, "38;2;1;2": {}, "38:5;1": {flags: bold}, "38": {},
		"58;5;1;4": {flags: underline}, "58:2::1:2:3;1": {flags: bold},
		"4:0": {}, "4:3": {flags: underline}, "4:2": {flags: underline2}, "1;2;22": {}, "1;0": {}, "": {}, "7;27;8;28;9;29;3;23": {},
		"31;39": {}, "41;49": {}, "6": {flags: blink}, "21": {flags: underline2}, "4;21;24": {}, "999": {},
	} {
		if s := write80("\x1b[" + text + "m"); s.page.cur.style != want {
			t.Errorf("%q: %+v, want %+v", text, s.page.cur.style, want)
		}
	}
}

// TestKeysOfAllModifiers: each named key with each modifier is one sequence, in capitals too,
// and the keys that have letters are the ones that xterm sends.
func TestKeysOfAllModifiers(t *testing.T) {
	s := New(5, 2, 0)
	seen := map[string]string{}
	for _, keys := range [][]string{sorted(letterKeys), sorted(tildeKeys)} {
		for _, key := range keys {
			for _, mods := range []string{"", "shift+", "alt+", "ctrl+", "ctrl+alt+", "Ctrl+Alt+Shift+"} {
				b, err := s.Key(mods + strings.ToUpper(key[:1]) + key[1:])
				if err != nil || len(b) < 3 || seen[string(b)] != "" {
					t.Errorf("%s%s: %q, %v, as %s", mods, key, b, err, seen[string(b)])
				}
				seen[string(b)] = mods + key
			}
		}
	}
	for name, want := range map[string]string{
		"meta+x": "\x1bx", "control+A": "\x01", "ctrl+@": "\x00", "ctrl+space": "\x00", "ctrl+?": "\x7f", "ctrl+/": "\x1f", "shift+a": "A",
		"+":      "+",
		"ctrl++": "", "ctrl+1": "", "ctrl+ctrl+a": "", "ctrl+": "", "": "", "ab": "", "\x1b": "", "\xff": "", "ctrl+\u00e4": "",
		"alt+backspace": "\x1b\x7f",
		"shift+tab":     "\x1b[Z", "ctrl+backspace": "\b", "alt++": "\x1b+",
	} {
		b, err := s.Key(name)
		if string(b) != want || (err == nil) != (want != "" || name == "ctrl+@" || name == "ctrl+space") {
			t.Errorf("%q: %q, %v, want %q", name, b, err, want)
		}
		if err != nil && (!strings.Contains(err.Error(), fmt.Sprintf("%.60q", name)) || len(err.Error()) > 300) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func sorted[T any](table map[string]T) []string {
	var out []string
	for name := range table {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
