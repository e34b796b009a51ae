package show

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEscape(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain text stays", "naïve 日本 \t tab\nline", "naïve 日本 \t tab\nline"},
		{"an escape sequence", "a\x1b[2Jb", `a\x1b[2Jb`},
		{"carriage return and bell", "a\rb\a", `a\x0db\x07`},
		{"C1 control", "a\u009bb", `a\u009bb`},
		{"bytes that are no text", "a\xff\xfe", `a\xff\xfe`},
		{"right-to-left override", "a\u202eb", `a\u202eb`},
		{"the replacement character itself", "\ufffd", "\ufffd"},
		{"delete", "a\x7f", `a\x7f`},
		{"empty", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Escape(tt.in); got != tt.want {
				t.Errorf("Escape(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

// FuzzEscape holds what terminals rely on: no control byte but line end and
// tab, valid UTF-8, and on one line not even those.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b]0;x\x07", "\xff\n\t", "\u202e", "\u009b31m", "a\r\nb", "\x00", "é\xc3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := Escape(s)
		if !utf8.ValidString(out) {
			t.Fatalf("Escape(%q) = %q is not UTF-8", s, out)
		}
		for _, r := range out {
			if (r < 0x20 || r >= 0x7f && r < 0xa0) && r != '\n' && r != '\t' {
				t.Fatalf("Escape(%q) = %q holds %U", s, out, r)
			}
		}
		if Escape(out) != out {
			t.Fatalf("Escape(%q) is not stable: %q then %q", s, out, Escape(out))
		}
		if line := OneLine(s); strings.ContainsAny(line, "\n\t\r") {
			t.Fatalf("oneLine(%q) = %q is more than a line", s, line)
		}
	})
}
