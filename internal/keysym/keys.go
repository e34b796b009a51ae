// Package keysym names keys: by what X11 calls them, by the names that other programs give
// them, and by characters, with the chords that people write, as "ctrl+shift+a".
//
// It knows the numbers of keys and no keyboard: which key of one gives a number is looked
// up elsewhere. It imports nothing of this module.
package keysym

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Sym is the number of what is printed on a key. Those of Latin-1 are the
// characters' own numbers, all other characters have 0x01000000 added, and
// keys without a character have a block near 0xff00 (X11 protocol, appendix A).
type Sym uint32

// Numbers that have a meaning of their own: what is added to a character's number, and
// modifiers.
const (
	Unicode    = 0x01000000
	symTab     = 0xff09
	symReturn  = 0xff0d
	Shift      = 0xffe1
	symControl = 0xffe3
	CapsLock   = 0xffe5
	symAlt     = 0xffe9
	symSuper   = 0xffeb
)

// Bounds of what is given as keys.
const (
	maxChordKeys = 8
	maxChords    = 100
)

// functionKeys are the keys without a character: a first number and the names
// from there on; "-" leaves one out. Two names of one key stand with a slash.
const functionKeys = `
ff08 BackSpace Tab Linefeed Clear - Return
ff13 Pause Scroll_Lock Sys_Req
ff1b Escape
ff20 Multi_key Kanji Muhenkan Henkan_Mode/Henkan Romaji Hiragana Katakana Hiragana_Katakana Zenkaku Hankaku Zenkaku_Hankaku
ff31 Hangul
ff34 Hangul_Hanja
ff50 Home Left Up Right Down Prior/Page_Up Next/Page_Down End Begin
ff60 Select Print Execute Insert - Undo Redo Menu Find Cancel Help Break
ff7e Mode_switch Num_Lock KP_Space
ff89 KP_Tab
ff8d KP_Enter
ff91 KP_F1 KP_F2 KP_F3 KP_F4 KP_Home KP_Left KP_Up KP_Right KP_Down KP_Prior/KP_Page_Up KP_Next/KP_Page_Down KP_End KP_Begin KP_Insert KP_Delete
ffaa KP_Multiply KP_Add KP_Separator KP_Subtract KP_Decimal KP_Divide
ffb0 KP_0 KP_1 KP_2 KP_3 KP_4 KP_5 KP_6 KP_7 KP_8 KP_9
ffbd KP_Equal F1 F2 F3 F4 F5 F6 F7 F8 F9 F10 F11 F12 F13 F14 F15 F16 F17 F18 F19 F20 F21 F22 F23 F24
ffe1 Shift_L Shift_R Control_L Control_R Caps_Lock Shift_Lock Meta_L Meta_R Alt_L Alt_R Super_L Super_R Hyper_L Hyper_R
ffff Delete
fe03 ISO_Level3_Shift
fe20 ISO_Left_Tab
fe50 dead_grave dead_acute dead_circumflex dead_tilde dead_macron dead_breve dead_abovedot dead_diaeresis dead_abovering dead_doubleacute dead_caron dead_cedilla dead_ogonek
1008ff02 XF86MonBrightnessUp XF86MonBrightnessDown
1008ff11 XF86AudioLowerVolume XF86AudioMute XF86AudioRaiseVolume XF86AudioPlay XF86AudioStop XF86AudioPrev XF86AudioNext XF86HomePage XF86Mail - XF86Search XF86AudioRecord XF86Calculator
1008ff26 XF86Back XF86Forward XF86Stop XF86Refresh XF86PowerOff XF86WakeUp XF86Eject XF86ScreenSaver XF86WWW XF86Sleep XF86Favorites XF86AudioPause
1008ff56 XF86Close XF86Copy XF86Cut
1008ff68 XF86New
1008ff6b XF86Open - XF86Paste
1008ff73 XF86Reload
1008ff77 XF86Save
`

// latinKeys are the names of characters.
const latinKeys = `
20 space exclam quotedbl numbersign dollar percent ampersand apostrophe/quoteright parenleft parenright asterisk plus comma minus period slash
3a colon semicolon less equal greater question at
5b bracketleft backslash bracketright asciicircum underscore grave/quoteleft
7b braceleft bar braceright asciitilde
a0 nobreakspace exclamdown cent sterling currency yen brokenbar section diaeresis copyright ordfeminine guillemotleft notsign hyphen registered macron
b0 degree plusminus twosuperior threesuperior acute mu paragraph periodcentered cedilla onesuperior masculine guillemotright onequarter onehalf threequarters questiondown
c0 Agrave Aacute Acircumflex Atilde Adiaeresis Aring AE Ccedilla Egrave Eacute Ecircumflex Ediaeresis Igrave Iacute Icircumflex Idiaeresis
d0 ETH Ntilde Ograve Oacute Ocircumflex Otilde Odiaeresis multiply Oslash Ugrave Uacute Ucircumflex Udiaeresis Yacute THORN ssharp
e0 agrave aacute acircumflex atilde adiaeresis aring ae ccedilla egrave eacute ecircumflex ediaeresis igrave iacute icircumflex idiaeresis
f0 eth ntilde ograve oacute ocircumflex otilde odiaeresis division oslash ugrave uacute ucircumflex udiaeresis yacute thorn ydiaeresis
20ac EuroSign
`

// otherNames are how people and other programs call keys, in small letters.
// The key with a window or a command sign is Super everywhere.
var otherNames = map[string]Sym{
	"enter": symReturn, "esc": 0xff1b, "del": 0xffff, "ins": 0xff63, "bksp": 0xff08,
	"ctrl": symControl, "control": symControl, "shift": Shift, "alt": symAlt, "option": symAlt, "altgr": 0xfe03, "altgraph": 0xfe03,
	"super": symSuper, "win": symSuper, "windows": symSuper, "cmd": symSuper, "command": symSuper, "meta": symSuper, "hyper": 0xffed,
	"pageup": 0xff55, "pgup": 0xff55, "pagedown": 0xff56, "pgdn": 0xff56, "pgdown": 0xff56,
	"arrowup": 0xff52, "arrowdown": 0xff54, "arrowleft": 0xff51, "arrowright": 0xff53,
	"capslock": CapsLock, "numlock": 0xff7f, "scrolllock": 0xff14, "printscreen": 0xff61, "prtsc": 0xff61, "contextmenu": 0xff67,
	"spacebar": ' ', "tilde": '~', "backtick": '`', "dash": '-',
}

type keyNames struct{ exact, folded map[string]Sym }

var keysByName = sync.OnceValue(func() keyNames {
	n := keyNames{make(map[string]Sym), make(map[string]Sym)}
	for i, table := range []string{functionKeys, latinKeys} {
		for line := range strings.Lines(table) {
			var number uint64
			for j, word := range strings.Fields(line) {
				if j == 0 {
					number, _ = strconv.ParseUint(word, 16, 32)
					continue
				}
				sym := Sym(number) + Sym(j-1)
				if sym > 0xff && i == 1 {
					sym |= Unicode
				}
				for name := range strings.SplitSeq(word, "/") {
					n.exact[name] = sym
					// Of letters with an accent only the case tells which.
					if i == 0 || sym < 0xa0 {
						n.folded[strings.ToLower(name)] = sym
					}
				}
			}
		}
	}
	for name, sym := range otherNames {
		n.folded[name] = sym
	}
	return n
})

// OfRune is the keysym of a character. Control characters have none but
// the two that are keys: a newline and a tab.
func OfRune(r rune) (Sym, bool) {
	switch {
	case r == '\n' || r == '\r':
		return symReturn, true
	case r == '\t':
		return symTab, true
	case unicode.IsControl(r) || !utf8.ValidRune(r):
		return 0, false
	case r <= 0xff:
		return Sym(r), true
	}
	return Unicode | Sym(r), true
}

// keyByName finds a key: one character, a name of X ("Prior", "odiaeresis"), a
// usual other name ("PageUp", "ctrl"), or a number as "U+20AC".
func keyByName(name string) (Sym, bool) {
	if r, n := utf8.DecodeRuneInString(name); n == len(name) && n > 0 && (r != utf8.RuneError || n > 1) {
		return OfRune(r)
	}
	names := keysByName()
	if sym, ok := names.exact[name]; ok {
		return sym, true
	}
	if sym, ok := names.folded[strings.ToLower(name)]; ok {
		return sym, true
	}
	if isCodePoint(name) {
		v, _ := strconv.ParseUint(name[2:], 16, 32)
		return OfRune(rune(v))
	}
	return 0, false
}

// isCodePoint says whether a name is a character's number, as "U+20AC".
func isCodePoint(name string) bool {
	if len(name) < 6 || name[0]|0x20 != 'u' || name[1] != '+' {
		return false
	}
	v, err := strconv.ParseUint(name[2:], 16, 32)
	return err == nil && v <= unicode.MaxRune
}

// Chord is keys that are pressed in this order and released in the other.
type Chord []Sym

// ParseKeys reads chords with spaces between them: "ctrl+shift+t",
// "ctrl+k ctrl+s", "+", "ctrl++". With Control, Alt or Super a capital letter
// is the key that shows it, as shortcuts are written: ctrl+A is ctrl+a, and
// ctrl+shift+a is another.
func ParseKeys(text string) ([]Chord, error) {
	words := strings.Fields(text)
	if len(words) == 0 && text == " " {
		words = []string{"space"}
	}
	if len(words) == 0 || len(words) > maxChords {
		return nil, fmt.Errorf(`keys %.60q: want from one to %d keys as "Return" or "ctrl+shift+t", with spaces between them`, text, maxChords)
	}
	chords := make([]Chord, len(words))
	for i, word := range words {
		c, err := ParseChord(word)
		if err != nil {
			return nil, err
		}
		chords[i] = c
	}
	return chords, nil
}

// ParseChord reads one chord.
func ParseChord(text string) (Chord, error) {
	var c Chord
	for rest := text; ; {
		name, more := rest, false
		if i := strings.IndexByte(rest, '+'); i > 0 && !isCodePoint(rest) {
			name, rest, more = rest[:i], rest[i+1:], true
		}
		sym, ok := keyByName(name)
		if !ok {
			return nil, fmt.Errorf(`key %.60q in %.60q: want one character or a name as "Return", "PageUp", "F5", "ctrl", with + between those of one chord`, name, text)
		}
		if c = append(c, sym); len(c) > maxChordKeys {
			return nil, fmt.Errorf("keys %.60q: at most %d keys are held at once", text, maxChordKeys)
		}
		if !more {
			break
		}
	}
	return c.shortcut(), nil
}

func (c Chord) shortcut() Chord {
	command := false
	for i, sym := range c {
		switch {
		case sym >= symControl && sym != CapsLock && sym <= 0xffee:
			command = true
		case command && (sym <= 0xff || sym>>24 == Unicode>>24):
			c[i], _ = OfRune(unicode.ToLower(rune(sym &^ Unicode)))
		}
	}
	return c
}
