package desktopcmd

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTypedPart(t *testing.T) {
	for _, text := range []string{"", "a", strings.Repeat("é", maxTyped), "a" + strings.Repeat("好", maxTyped),
		"ab" + strings.Repeat("🙂", maxTyped), strings.Repeat("\xff", 3*maxTyped)} {
		var all strings.Builder
		for rest := text; rest != ""; {
			part := typedPart(rest)
			if part == "" || len(part) > maxTyped || utf8.ValidString(text) && !utf8.ValidString(part) {
				t.Fatalf("a part of %d bytes", len(part))
			}
			all.WriteString(part)
			rest = rest[len(part):]
		}
		if all.String() != text {
			t.Errorf("%d bytes came of %d", all.Len(), len(text))
		}
	}
}
