package policy

import (
	"strconv"
	"strings"
	"testing"
)

func TestParseSize(t *testing.T) {
	for _, good := range []string{"64x64", "1280x800", "8192x8192"} {
		if s, err := ParseSize(good); err != nil || s.String() != good {
			t.Errorf("%q: %v, %v", good, s, err)
		}
	}
	for _, bad := range []string{"", "x", "1280", "1280x", "x800", "1280X800", "1280x800x24", " 1280x800", "1280x800 ", "+1280x800", "01280x800", "1280x-800", "63x64", "8193x100", "99999999999999999999x100", "1280x800\n"} {
		if s, err := ParseSize(bad); err == nil || !strings.Contains(err.Error(), strconv.Quote(bad)) {
			t.Errorf("%q: %v, %v", bad, s, err)
		}
	}
}

func FuzzParseSize(f *testing.F) {
	f.Add("1920x1080")
	f.Add("1x\x00")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseSize(text); err == nil && (s.String() != text || min(s.Width, s.Height) < MinSide || max(s.Width, s.Height) > MaxSide) {
			t.Errorf("%q is taken as %v", text, s)
		}
	})
}
