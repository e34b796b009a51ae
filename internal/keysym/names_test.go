package keysym

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// TestKeyNames holds the last key of each row of the tables, and keys behind gaps, to the
// numbers of keysymdef.h and XF86keysym.h: a name too many or too few moves them.
func TestKeyNames(t *testing.T) {
	for name, want := range map[string]Sym{
		"Linefeed": 0xff0a, "Return": 0xff0d, "Sys_Req": 0xff15, "Zenkaku_Hankaku": 0xff2a, "Hangul_Hanja": 0xff34, "Begin": 0xff58,
		"Insert": 0xff63, "Undo": 0xff65, "Break": 0xff6b, "Num_Lock": 0xff7f, "KP_Space": 0xff80, "KP_Page_Down": 0xff9b, "KP_Delete": 0xff9f,
		"KP_Divide": 0xffaf, "KP_9": 0xffb9, "F12": 0xffc9, "F24": 0xffd5, "Hyper_R": 0xffee, "dead_ogonek": 0xfe5c, "Henkan": 0xff23,
		"XF86MonBrightnessDown": 0x1008ff03, "XF86Mail": 0x1008ff19, "XF86Calculator": 0x1008ff1d, "XF86AudioPause": 0x1008ff31,
		"XF86Cut": 0x1008ff58, "XF86Paste": 0x1008ff6d, "slash": '/', "at": '@', "quoteleft": '`', "asciitilde": '~', "macron": 0xaf,
		"questiondown": 0xbf, "Idiaeresis": 0xcf, "ssharp": 0xdf, "idiaeresis": 0xef, "ydiaeresis": 0xff, "THORN": 0xde, "thorn": 0xfe,
		"PGDN": 0xff56, "Spacebar": ' ', "AltGr": 0xfe03, "escape": 0xff1b, "eurosign": 0, "ODIAERESIS": 0, "Prior/Page_Up": 0,
	} {
		chord, err := ParseChord(name)
		if want == 0 {
			if err == nil {
				t.Errorf("%s is taken, as %x", name, chord)
			}
			continue
		}
		if err != nil || !slices.Equal(chord, Chord{want}) {
			t.Errorf("%s is %x, %v; want %x", name, chord, err, want)
		}
	}
}

// TestShortcutLetters: with a modifier each letter is the key that shows it, of any script,
// and no key that has no letter becomes another one.
func TestShortcutLetters(t *testing.T) {
	for text, want := range map[string]Chord{
		"ctrl+A+B": {symControl, 'a', 'b'}, "alt+\u0416": {symAlt, 0x01000436}, "cmd+\u00c4": {symSuper, 0xe4}, "ctrl+\u0130": {symControl, 'i'},
		"ctrl+a+Kanji": {symControl, 'a', 0xff21}, "ctrl+XF86Copy": {symControl, 0x1008ff57}, "A+ctrl": {'A', symControl},
		"shift+A": {Shift, 'A'}, "capslock+A": {CapsLock, 'A'}, "\u0416": {0x01000416},
	} {
		if got, err := ParseChord(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is %x, %v; want %x", text, got, err, want)
		}
	}
}

// TestCharacters: a character and its number are one key.
func TestCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.Rune().Draw(t, "character")
		want, isKey := OfRune(r)
		for _, text := range []string{string(r), fmt.Sprintf("U+%04x", r), fmt.Sprintf("u+%04X", r)} {
			got, err := ParseChord(text)
			if (err == nil) != isKey || isKey && !slices.Equal(got, Chord{want}) {
				t.Errorf("%q is %x, %v; want %x, %v", text, got, err, want, isKey)
			}
		}
		if isKey == unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r) {
			t.Errorf("%q is a key: %v", r, isKey)
		}
	})
}

// TestKeyErrors: an error names what was given and what would be right, and is short.
func TestKeyErrors(t *testing.T) {
	for text, want := range map[string]string{
		"ctrl+retrun":                   `key "retrun" in "ctrl+retrun": want one character or a name as "Return"`,
		strings.Repeat("a ", 101):       "want from one to 100 keys",
		"a+b+c+d+e+f+g+h+i":             `keys "a+b+c+d+e+f+g+h+i": at most 8 keys are held at once`,
		strings.Repeat("nonsense", 1e4): `key "nonsense`,
	} {
		if _, err := ParseKeys(text); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 300 {
			t.Errorf("%.40q: %.300v, want %q", text, err, want)
		}
	}
}
