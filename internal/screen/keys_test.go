package screen

import "testing"

func TestKeys(t *testing.T) {
	for _, c := range []struct{ modes, key, want string }{
		{"", "Enter", "\r"}, {"\x1b[20h", "Enter", "\r\n"}, {"", "Tab", "\t"}, {"", "shift+Tab", "\x1b[Z"}, {"", "Escape", "\x1b"}, {"", "esc", "\x1b"},
		{"", "Backspace", "\x7f"}, {"", "ctrl+Backspace", "\b"}, {"", "Space", " "}, {"", "ctrl+space", "\x00"}, {"", "alt+Enter", "\x1b\r"},
		{"", "Up", "\x1b[A"}, {"\x1b[?1h", "Up", "\x1bOA"}, {"\x1b[?1h", "ctrl+Left", "\x1b[1;5D"}, {"", "shift+alt+End", "\x1b[1;4F"}, {"\x1b[?1h", "home", "\x1bOH"},
		{"", "F1", "\x1bOP"}, {"", "shift+F1", "\x1b[1;2P"}, {"", "F5", "\x1b[15~"}, {"", "F12", "\x1b[24~"}, {"", "PageUp", "\x1b[5~"}, {"", "ctrl+Delete", "\x1b[3;5~"},
		{"", "a", "a"}, {"", "A", "A"}, {"", "shift+a", "A"}, {"", "ctrl+c", "\x03"}, {"", "Control+C", "\x03"}, {"", "alt+x", "\x1bx"}, {"", "alt+ctrl+d", "\x1b\x04"},
		{"", "ctrl+[", "\x1b"}, {"", "ctrl+@", "\x00"}, {"", "ctrl+?", "\x7f"}, {"", "ctrl+/", "\x1f"}, {"", "ä", "ä"}, {"", "+", "+"}, {"", "alt++", "\x1b+"}, {"", "漢", "漢"},
	} {
		got, err := write(10, 4, c.modes).Key(c.key)
		if err != nil || string(got) != c.want {
			t.Errorf("%s after %q: %q, %v, want %q", c.key, c.modes, got, err, c.want)
		}
	}
	for _, key := range []string{"", "ab", "F13", "ctrl+", "ctrl+ctrl+c", "hyper+x", "ctrl+1", "ctrl+ä", "\x1b", "\xff", "a\n", "+a"} {
		if got, err := New(10, 4, 0).Key(key); err == nil {
			t.Errorf("%q is taken, as %q", key, got)
		}
	}
}

func TestPaste(t *testing.T) {
	for text, want := range map[string]string{
		"ab\tc": "ab\tc", "a\nb\r\nc\r": "a\rb\rc\r", "x\x1b[201~rm -rf\n": "x[201~rm -rf\r", "\x03\x04\x7f\u009b201~": "201~", "\xff": "\ufffd",
	} {
		if got := string(New(10, 4, 0).Paste(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if got := string(write(10, 4, "\x1b[?2004h").Paste(text)); got != "\x1b[200~"+want+"\x1b[201~" {
			t.Errorf("%q in brackets: %q", text, got)
		}
	}
}
