package view

import (
	"strings"
	"testing"
)

func TestWildmatch(t *testing.T) {
	yes := []string{
		"a a", "* abc", "a/* a/b", "**/x x", "**/x a/b/x", "a/** a/b/c", "a/**/b a/b", "a/**/b a/x/y/b", "a** abc", "[a-c]? bz",
		"[!x]y ay", "[^x]y ay", `\* *`, "[]] ]", "[]-] -", "[a-] -", "[[:digit:]x] 7", `[\]] ]`, "** a/b", "*/b a/b", "***/x a/x", "/**/.git /a/.git",
	}
	no := []string{
		"a b", "* a/b", "a/* a/b/c", "? /", "[/] /", "[!a] /", "a** a/b", "**x a/x", "a/**/b a/xb", "[a b", `a\ a`, "[b-a] b", "a/**/ a", "[[:digit:]] x", "**/x xx",
	}
	for _, s := range yes {
		if p, text, _ := strings.Cut(s, " "); !wildmatch(p, text) {
			t.Errorf("%q does not match %q", p, text)
		}
	}
	for _, s := range no {
		if p, text, _ := strings.Cut(s, " "); wildmatch(p, text) {
			t.Errorf("%q matches %q", p, text)
		}
	}
	if wildmatch(strings.Repeat("*a", 2000), strings.Repeat("a", 3000)+"b") {
		t.Error("a long pattern matches what it should not")
	}
}

func FuzzWildmatch(f *testing.F) {
	f.Add("**/[a-c]*/\\?", "x/b1/?")
	f.Add("[[:alpha:]", "a")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		wildmatch(pattern, text)
		if literal := escapeWild(text); len(literal) <= maxPattern && !wildmatch(literal, text) {
			t.Fatalf("%q does not match itself", text)
		}
		if len(text) <= maxPattern && !wildmatch("**", text) {
			t.Fatalf("** does not match %q", text)
		}
	})
}

// escapeWild writes a pattern that matches exactly text.
func escapeWild(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		b.WriteByte('\\')
		b.WriteByte(text[i])
	}
	return b.String()
}
