package runcmd

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSplitWords(t *testing.T) {
	for _, tt := range []struct{ line, ours, theirs string }{
		{"", "", ""},
		{"-p hi --resume", "", "-p hi --resume"},
		{"exec hi", "", "exec hi"},
		{"--", "", ""},
		{"-- -p hi", "", "-p hi"},
		{"-- -- x", "", "-- x"},
		{"--network open -- -p hi", "--network open", "-p hi"},
		{"--network open -- exec -- x", "--network open", "exec -- x"},
		{"exec -- text", "", "exec -- text"},
		{"exec --network open -- text", "", "exec --network open -- text"},
		{"-m o3 exec -- text", "-m o3 exec", "text"}, // and is refused: -m is no flag of ours
		{"- -- text", "-", "text"},                   // so is this
	} {
		ours, theirs := splitWords(strings.Fields(tt.line))
		if got := strings.Join(ours, " "); got != tt.ours {
			t.Errorf("%q: ours are %q, want %q", tt.line, got, tt.ours)
		}
		if got := strings.Join(theirs, " "); got != tt.theirs {
			t.Errorf("%q: theirs are %q, want %q", tt.line, got, tt.theirs)
		}
	}
}

// No word is lost or changed, and behind a leading "--" nothing is ours.
func TestSplitWordsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.SampledFrom([]string{"--", "-", "", "-p", "--network", "open", "exec", "\xff"}), 0, 8).Draw(t, "words")
		ours, theirs := splitWords(list)
		if whole := slices.Concat(ours, []string{"--"}, theirs); !slices.Equal(theirs, list) && !slices.Equal(whole, list) {
			t.Fatalf("%q became %q and %q", list, ours, theirs)
		}
		if len(ours) > 0 && (!strings.HasPrefix(ours[0], "-") || slices.Contains(ours, "--")) {
			t.Fatalf("%q: ours are %q", list, ours)
		}
		if ours, theirs := splitWords(slices.Concat([]string{"--"}, list)); len(ours) > 0 || !slices.Equal(theirs, list) {
			t.Fatalf("behind --: %q became %q and %q", list, ours, theirs)
		}
	})
}
