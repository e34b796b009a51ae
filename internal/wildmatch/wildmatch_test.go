package wildmatch

import (
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		paths bool
		list  []string
	}{
		{true, []string{
			"a a", "* abc", "a/* a/b", "**/x x", "**/x a/b/x", "a/** a/b/c", "a/**/b a/b", "a/**/b a/x/y/b", "a** abc", "[a-c]? bz",
			"[!x]y ay", "[^x]y ay", `\* *`, "[]] ]", "[]-] -", "[a-] -", "[b-a] b", "[[:digit:]x] 7", `[\]] ]`, "** a/b", "*/b a/b", "***/x a/x", "/**/.git /a/.git",
		}},
		{false, []string{"a a", "* a/b", "? /", "[/] /", "a** a/b", "a*b a/x/b", "[[:upper:]]* Ab"}},
	} {
		for _, s := range c.list {
			if p, text, _ := strings.Cut(s, " "); !Match(p, text, c.paths) {
				t.Errorf("%q does not match %q with paths %v", p, text, c.paths)
			}
		}
	}
	for _, c := range []struct {
		paths bool
		list  []string
	}{
		{true, []string{
			"a b", "* a/b", "a/* a/b/c", "? /", "[/] /", "[!a] /", "a** a/b", "**x a/x", "a/**/b a/xb", "[a b", `a\ a`, "[c-a] b", "a/**/ a", "[[:digit:]] x", "**/x xx",
		}},
		{false, []string{"a b", "? ab", "[a b", `a\ a`, "[c-a] b", "[[:digit:]] x", "a* ba"}},
	} {
		for _, s := range c.list {
			if p, text, _ := strings.Cut(s, " "); Match(p, text, c.paths) {
				t.Errorf("%q matches %q with paths %v", p, text, c.paths)
			}
		}
	}
}

// TestMatchEnds: no pattern takes for ever.
func TestMatchEnds(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		paths         bool
	}{
		{strings.Repeat("**/a*", 500), strings.Repeat("a/", 2000) + "b", true},
		{strings.Repeat("*a", 500) + "b", strings.Repeat("a", 4000), false},
		{strings.Repeat("*a", 2000), strings.Repeat("a", 3000) + "b", true},
		{strings.Repeat("[[:alpha:]]*", 300) + "!", strings.Repeat("a", 4000), true},
	} {
		if Match(c.pattern, c.text, c.paths) {
			t.Errorf("%.20q matches", c.pattern)
		}
	}
}

func FuzzMatch(f *testing.F) {
	for _, p := range []string{"**/[a-c]*/\\?", "[[:alpha:]", "[", "a/**/b", "*"} {
		f.Add(p, "x/b1/?", true)
		f.Add(p, "", false)
	}
	f.Fuzz(func(t *testing.T, pattern, text string, paths bool) {
		Match(pattern, text, paths)
		if !Match(escaped(text), text, paths) {
			t.Fatalf("%q does not match itself", text)
		}
		if !Match("**", text, paths) {
			t.Fatalf("** does not match %q", text)
		}
	})
}

// escaped is a pattern that matches a text alone.
func escaped(text string) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteByte('\\')
		b.WriteByte(text[i])
	}
	return b.String()
}
