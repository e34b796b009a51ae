package protect

import "testing"

// TestExpansion: the runes that fold to more than one ASCII letter, and none beside them.
func TestExpansion(t *testing.T) {
	for r, want := range map[rune]string{
		'ß': "ss", 'ẞ': "ss", 'ﬀ': "ff", 'ﬁ': "fi", 'ﬂ': "fl", 'ﬃ': "ffi", 'ﬄ': "ffl", 'ﬅ': "st", 'ﬆ': "st",
		's': "", 'Þ': "", 'à': "", 'ﬓ': "",
	} {
		if got := expansion(r); got != want {
			t.Errorf("%q is %q, want %q", r, got, want)
		}
		if want != "" && foldName("A"+string(r)) != "a"+want {
			t.Errorf("A%c folds to %q", r, foldName("A"+string(r)))
		}
	}
}
