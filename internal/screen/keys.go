package screen

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Modifiers as xterm counts them: their sum and one is a parameter.
const (
	shift = 1
	alt   = 2
	ctrl  = 4
)

// letterKeys end in a letter, after SS3 in application mode or always.
var letterKeys = map[string]byte{
	"up": 'A', "down": 'B', "right": 'C', "left": 'D', "home": 'H', "end": 'F',
	"f1": 'P', "f2": 'Q', "f3": 'R', "f4": 'S',
}

// tildeKeys are a number and a tilde.
var tildeKeys = map[string]int{
	"insert": 2, "delete": 3, "pageup": 5, "pagedown": 6,
	"f5": 15, "f6": 17, "f7": 18, "f8": 19, "f9": 20, "f10": 21, "f11": 23, "f12": 24,
}

// plainKeys are single bytes.
var plainKeys = map[string]byte{
	"enter": '\r', "return": '\r', "tab": '\t', "escape": 0x1b, "esc": 0x1b, "backspace": 0x7f, "space": ' ',
}

// Key gives the bytes that a key sends in the modes that the program has asked
// for. A key is one character or one of Enter, Tab, Escape, Backspace, Space,
// Delete, Insert, Home, End, PageUp, PageDown, Up, Down, Left, Right and F1 to
// F12, with ctrl+, alt+ and shift+ before it in any order; but for single
// characters capitals make no difference. What no terminal sends is an error.
func (s *Screen) Key(name string) ([]byte, error) {
	mods, key := 0, name
	for {
		before, after, found := strings.Cut(key, "+")
		mod := map[string]int{"shift": shift, "alt": alt, "meta": alt, "ctrl": ctrl, "control": ctrl}[strings.ToLower(before)]
		if !found || mod == 0 || after == "" {
			break
		}
		if mods&mod != 0 {
			return nil, fmt.Errorf("key %.60q: %s is there twice", name, before)
		}
		mods, key = mods|mod, after
	}
	if b := s.modes.namedKey(strings.ToLower(key), mods); b != nil {
		return b, nil
	}
	if r, n := utf8.DecodeRuneInString(key); n == len(key) && n > 0 && (r != utf8.RuneError || n == 3) && unicode.IsPrint(r) {
		if b := characterKey(r, mods); b != nil {
			return b, nil
		}
	}
	return nil, fmt.Errorf(`key %.60q: want one character or a name as "Enter", "PageUp", "F5", with ctrl+, alt+ or shift+ before it`, name)
}

func (m *modes) namedKey(key string, mods int) []byte {
	if c, ok := letterKeys[key]; ok {
		switch {
		case mods != 0:
			return fmt.Appendf(nil, "\x1b[1;%d%c", mods+1, c)
		case m.appCursor || key[0] == 'f':
			return []byte{0x1b, 'O', c}
		}
		return []byte{0x1b, '[', c}
	}
	if n, ok := tildeKeys[key]; ok {
		if mods != 0 {
			return fmt.Appendf(nil, "\x1b[%d;%d~", n, mods+1)
		}
		return fmt.Appendf(nil, "\x1b[%d~", n)
	}
	c, ok := plainKeys[key]
	if !ok {
		return nil
	}
	var b []byte
	switch {
	case c == '\t' && mods&shift != 0:
		b = []byte("\x1b[Z")
	case c == '\r' && m.newline:
		b = []byte("\r\n")
	case c == ' ' && mods&ctrl != 0:
		b = []byte{0}
	case c == 0x7f && mods&ctrl != 0:
		b = []byte{'\b'}
	default:
		b = []byte{c}
	}
	return withAlt(b, mods)
}

func withAlt(b []byte, mods int) []byte {
	if mods&alt != 0 {
		return append([]byte{0x1b}, b...)
	}
	return b
}

// characterKey gives nil for what has no control character.
func characterKey(r rune, mods int) []byte {
	if mods&ctrl != 0 {
		switch up := unicode.ToUpper(r); {
		case up >= '@' && up <= '_':
			r = up & 0x1f
		case r == ' ':
			r = 0
		case r == '?':
			r = 0x7f
		case r == '/':
			r = 0x1f
		default:
			return nil
		}
	} else if mods&shift != 0 {
		r = unicode.ToUpper(r)
	}
	return withAlt([]byte(string(r)), mods)
}

// Paste gives the bytes that pasting a text sends, in brackets where the program
// asked for them. Line ends become Enter. Other control characters but the tab
// are left out: they could end the brackets, and what follows would be taken as
// typed.
func (s *Screen) Paste(text string) []byte {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\r\n", "\r")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return '\r'
		case unicode.IsControl(r) && r != '\t' && r != '\r':
			return -1
		}
		return r
	}, text)
	if s.modes.paste {
		text = "\x1b[200~" + text + "\x1b[201~"
	}
	return []byte(text)
}
