package keysym

import (
	"slices"
	"testing"
)

func TestParseKeys(t *testing.T) {
	for text, want := range map[string][]Chord{
		"Return": {{symReturn}}, "enter": {{symReturn}}, "a": {{'a'}}, "A": {{'A'}}, "+": {{'+'}}, " ": {{' '}}, "space": {{' '}},
		"ctrl+shift+t": {{symControl, Shift, 't'}}, "Control_L+T": {{symControl, 't'}}, "ctrl++": {{symControl, '+'}}, "ctrl+plus": {{symControl, '+'}},
		"ctrl+k ctrl+s": {{symControl, 'k'}, {symControl, 's'}}, "alt+Tab": {{symAlt, symTab}}, "PageUp": {{0xff55}}, "Page_Down": {{0xff56}}, "Prior": {{0xff55}},
		"F1": {{0xffbe}}, "f24": {{0xffd5}}, "KP_0": {{0xffb0}}, "super+Left": {{symSuper, 0xff51}}, "ArrowUp": {{0xff52}}, "cmd+c": {{symSuper, 'c'}},
		"Odiaeresis": {{0xd6}}, "odiaeresis": {{0xf6}}, "ü": {{0xfc}}, "Ω": {{0x010003a9}}, "U+20AC": {{0x010020ac}}, "EuroSign": {{0x010020ac}}, "🎉": {{0x0101f389}},
		"shift+a": {{Shift, 'a'}}, "-": {{'-'}}, "minus": {{'-'}}, "Delete": {{0xffff}}, "XF86Back": {{0x1008ff26}}, "shift": {{Shift}}, "ctrl+Ä": {{symControl, 0xe4}},
	} {
		got, err := ParseKeys(text)
		if err != nil || !slices.EqualFunc(got, want, slices.Equal[Chord]) {
			t.Errorf("%q: %x, %v, want %x", text, got, err, want)
		}
	}
	for _, text := range []string{"", "  ", "ctrl+", "+a", "ctrl+nonsense", "a+b+c+d+e+f+g+h+i", "--help", "\x1b", "\xff", "U+D800", "U+110000", "\x00"} {
		if got, err := ParseKeys(text); err == nil {
			t.Errorf("%q is taken, as %x", text, got)
		}
	}
}

func FuzzParseKeys(f *testing.F) {
	for _, seed := range []string{"ctrl+shift+t", "+", "ctrl++", "U+20AC", "\xff", "a b c", "é"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		chords, err := ParseKeys(text)
		if (err == nil) == (len(chords) == 0) {
			t.Fatalf("%q: %x, %v", text, chords, err)
		}
		for _, c := range chords {
			if len(c) == 0 || len(c) > maxChordKeys || slices.Contains(c, 0) {
				t.Fatalf("%q: %x", text, chords)
			}
		}
	})
}
