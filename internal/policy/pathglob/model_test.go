package pathglob

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// expression says what a pattern without braces means as a regular expression of whole
// paths. Its "**" stands between slashes alone.
func expression(glob string) string {
	var b strings.Builder
	b.WriteString(`(?s)^`)
	for i, part := range strings.Split(glob, "/") {
		if i > 0 {
			b.WriteString(`/`)
		}
		if part == "**" {
			b.WriteString(`(?:[^/]+/)*`)
			continue
		}
		for i := 0; i < len(part); i++ {
			switch c := part[i]; c {
			case '*':
				b.WriteString(`[^/]*`)
			case '?':
				b.WriteString(`[^/]`)
			case '[':
				end := i + strings.IndexByte(part[i:], ']')
				class := part[i+1 : end]
				class, negated := strings.CutPrefix(class, "!")
				if negated {
					class = "^/" + class
				}
				b.WriteString(`[` + class + `]`)
				i = end
			case '\\':
				i++
				b.WriteString(regexp.QuoteMeta(part[i : i+1]))
			default:
				b.WriteString(regexp.QuoteMeta(part[i : i+1]))
			}
		}
	}
	return strings.ReplaceAll(b.String(), `)*/`, `)*`) + `$`
}

// TestAgainstRegularExpressions holds the matcher to Go's regular expressions, with patterns
// and names of few letters, so that they meet often.
func TestAgainstRegularExpressions(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "b", "*", "?", "[ab]", "[!a]", "[a-c]", `\*`, "a*", "*b", "**a"})
	component := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 1, 5).Draw(t, "pieces"), "") })
	name := rapid.StringMatching(`[abc*]{1,8}`)
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.OneOf(component, rapid.Just("**")), 0, 3).Draw(t, "components")
		glob := strings.Join(append(parts, component.Filter(func(s string) bool { return s != "**" }).Draw(t, "last")), "/")
		path := strings.Join(rapid.SliceOfN(name, 1, 4).Draw(t, "path"), "/")
		patterns, err := Compile(glob)
		if err != nil {
			t.Fatalf("%q: %v", glob, err)
		}
		want := regexp.MustCompile(expression(glob)).MatchString(path)
		if got := matches(patterns[0], strings.Split(path, "/")); got != want {
			t.Errorf("%q on %q: %v, and %s says %v", glob, path, got, expression(glob), want)
		}
	})
}

// TestAlternatives: braces stand for each of their words, also one in another, and none in a
// class or behind a backslash.
func TestAlternatives(t *testing.T) {
	for glob, want := range map[string][]string{
		"a": {"a"}, "{a,b}": {"a", "b"}, "{a}": {"a"}, "x{,y}": {"x", "xy"}, "{a,b}{1,2}": {"a1", "a2", "b1", "b2"},
		"{a,{b,c}d}": {"a", "bd", "cd"}, `\{a,b}x`: nil, `\{a,b\}`: {`\{a,b\}`}, "[{]a": {"[{]a"}, "{[,]x,b}": {"[,]x", "b"},
		"a,b": {"a,b"}, "{a,b": nil, "a}": nil, "[{/]": nil, `{a\,b,c}`: {`a\,b`, "c"},
	} {
		got, err := Alternatives(glob)
		if slices.Sort(got); want == nil && !errors.Is(err, errBrace) || want != nil && (err != nil || !slices.Equal(got, want)) {
			t.Errorf("%q is %q, %v; want %q", glob, got, err, want)
		}
	}
}

// TestLiteral: a path written as a glob is that path alone, whatever bytes it has.
func TestLiteral(t *testing.T) {
	name := rapid.StringMatching(`[a-b*?{},!^\[\]\\-]{1,8}`).Filter(func(s string) bool { return s != "." && s != ".." })
	rapid.Check(t, func(t *rapid.T) {
		path, other := name.Draw(t, "path"), name.Draw(t, "other")
		patterns, err := Compile(Literal(path))
		if err != nil || len(patterns) != 1 || !matches(patterns[0], []string{path}) {
			t.Fatalf("%q as %q: %v, %v", path, Literal(path), patterns, err)
		}
		if other != path && matches(patterns[0], []string{other}) {
			t.Errorf("%q as %q stands for %q", path, Literal(path), other)
		}
	})
}

// TestStarsTakeNoLongTime: the work is the product of the lengths, not a power.
func TestStarsTakeNoLongTime(t *testing.T) {
	segment, err := Component(strings.Repeat("*a", 200) + "b")
	if err != nil {
		t.Fatal(err)
	}
	if name := strings.Repeat("a", 20000); segment.Match(name) || !segment.Match(name+"b") {
		t.Error("the last letter does not decide")
	}
}

// FuzzCompile: no pattern and no name makes the package panic, and one that was compiled
// matches as its alternatives do.
func FuzzCompile(f *testing.F) {
	for _, glob := range []string{"a/{b,c}/**", `[!a-\]]x`, "[a", "{a,{b}",
		"\xff[\xfe-\xff]", "**/*.{pem,key}", `\`, "[]", "a//./b", "[a-]", "[^\xff]"} {
		f.Add(glob, "b")
		f.Add(glob, "\xff")
	}
	f.Fuzz(func(t *testing.T, glob, name string) {
		patterns, err := Compile(glob)
		if err != nil {
			if len(patterns) > 0 || len(err.Error()) > 200 {
				t.Errorf("%v with %d patterns", err, len(patterns))
			}
			return
		}
		plain, err := Alternatives(glob)
		if err != nil || len(plain) != len(patterns) {
			t.Fatalf("%d patterns of %q, %v", len(patterns), plain, err)
		}
		for i, text := range plain {
			again, err := Compile(text)
			if text != "" && (err != nil || fmt.Sprint(again) != fmt.Sprint(patterns[i:i+1])) {
				t.Errorf("%q is %v, %v; as a part of %q it is %v", text, again, err, glob, patterns[i])
			}
			for _, segment := range patterns[i] {
				segment.Match(name)
			}
		}
	})
}
