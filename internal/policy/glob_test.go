package policy

import (
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"

	"carrel/internal/policy/pathglob"
)

// globMatches matches one glob against one path, as a deny of it would.
func globMatches(t testing.TB, glob, path string) bool {
	t.Helper()
	m, err := newMatcher([]Rule{{Glob: glob, Access: Deny, Source: Source{Layer: LayerUser}}})
	if err != nil {
		t.Fatalf("glob %q: %v", glob, err)
	}
	return m.lookup(path).Access == Deny
}

// TestDenyGlobs holds the read-deny cases of other sandboxes. Not here:
// matching without regard to case and with "\" as separator (Windows), and
// expansion against a file tree (E1 to E6), which is not this package's work.
func TestDenyGlobs(t *testing.T) {
	tests := []struct {
		name, glob, path string
		want             bool
	}{
		{"G1", "/t/denied", "/t/denied", true},
		{"G1", "/t/denied", "/t/denied/nested.txt", true},
		{"G1", "/t/denied", "/t/other.txt", false},
		{"G2", "/t/**/*.env", "/t/.env", true},
		{"G2", "/t/**/*.env", "/t/app/.env", true},
		{"G2", "/t/**/*.env", "/t/app/notes.txt", false},
		{"G3", "/t/*/file[0-9]?.txt", "/t/app/file42.txt", true},
		{"G3", "/t/*/file[0-9]?.txt", "/t/app/nested/file42.txt", false},
		{"G3", "/t/*/file[0-9]?.txt", "/t/app/file4.txt", false},
		{"G3", "/t/*/file[0-9]?.txt", "/t/app/fileab.txt", false},
		{"G4", "/t/private/secret?.txt", "/t/private/secret1.txt", true},
		{"G4", "/t/private/secret?.txt", "/t/private/secret\xff.txt", true},
		{"G4 one character", "/t/private/secret?.txt", "/t/private/secretä.txt", true},
		{"G5", "/t/[", "/t/[", true},
		{"G5 within a name", "/t/[*.env", "/t/[a.env", true},
		{"G5 cut by a slash", "/t/[a/b]", "/t/[a/b]", true},
		{"everything below a match", "/t/**/node_modules", "/t/a/node_modules/b/c", true},
		{"** at the end takes the directory too", "/t/a/**", "/t/a", true},
		{"** at the end", "/t/a/**", "/t/a/b/c", true},
		{"** inside a name is *", "/t/a**b", "/t/axxb", true},
		{"** inside a name is *", "/t/a**b", "/t/ax/xb", false},
		{"braces", "/t/{a,b/c}.txt", "/t/b/c.txt", true},
		{"braces", "/t/{a,b/c}.txt", "/t/c.txt", false},
		{"nested braces", "/t/{a,{b,c}d}", "/t/cd", true},
		{"empty alternative", "/t/a{,.bak}", "/t/a", true},
		{"brace in a class", "/t/[{]", "/t/{", true},
		{"negated class", "/t/[!a]", "/t/b", true},
		{"negated class", "/t/[^a]", "/t/a", false},
		{"negated class takes a raw byte", "/t/[!a]", "/t/\xff", true},
		{"a raw byte equals only itself", "/t/\xff", "/t/\xfe", false},
		{"a raw byte in a class", "/t/[\xff]", "/t/\xff", true},
		{"a raw byte in a class", "/t/[\xff]", "/t/\xfe", false},
		{"a raw byte is no replacement character", "/t/\uFFFD", "/t/\xff", false},
		{"escape", `/t/\*`, "/t/*", true},
		{"escape", `/t/\*`, "/t/a", false},
		{"hidden files need no dot", "/t/*", "/t/.a", true},
		{"trailing slash", "/t/build/", "/t/build/x", true},
		{"star goes back", "/t/*a*b", "/t/xaxaxb", true},
		{"star goes back", "/t/*a*b", "/t/xaxax", false},
	}
	for _, tt := range tests {
		if got := globMatches(t, tt.glob, tt.path); got != tt.want {
			t.Errorf("%s: %q on %q = %v, want %v", tt.name, tt.glob, tt.path, got, tt.want)
		}
	}
}

// G6, G8, and where a glob without an anchor starts.
func TestGlobAnchors(t *testing.T) {
	e := mustDecide(t, nil, layer(LayerUser,
		rule("/", Read), rule("/w/[x]", Read),
		glob("~/private/*.env", Deny), glob("*.key", Deny), glob("conf/*.pem", Deny),
		glob(":tmp/*.sock", Deny), rule("/t/denied", Deny), glob("/t/**/*.txt", Deny)))
	for path, want := range map[string]Access{
		"/home/u/private/secret.env": Deny,
		"/w/a/b/c.key":               Deny,
		"/other/c.key":               Read,
		"/w/conf/a.pem":              Deny,
		"/w/x/conf/a.pem":            Read,
		"/tmp/a.sock":                Deny,
		"/t/denied/x":                Deny,
		"/t/a/b.txt":                 Deny,
	} {
		wantAccess(t, e, path, want)
	}
	scope := testScope()
	scope.Project = "/home/u/[p]*"
	e, err := Decide(scope, nil, []Layer{layer(LayerUser, rule(":project", Write), glob("*.key", Deny))})
	if err != nil {
		t.Fatal(err)
	}
	wantAccess(t, e, "/home/u/[p]*/a.key", Deny)
	wantAccess(t, e, "/home/u/[p]*/a", Write)
	scope.Home = ""
	if _, err := Decide(scope, nil, []Layer{layer(LayerDefault, glob("~/x", Deny))}); err == nil {
		t.Error("G6: a glob below an unknown home: want an error")
	}
}

// G7: what is no pattern is an error at Decide, and rules that bypassed Decide
// deny everything.
func TestBadGlobDeniesEverything(t *testing.T) {
	e := &Effective{Rules: []Rule{{Path: "/", Access: Write}, {Glob: "/a{", Access: Deny}}}
	if got := e.Lookup("/x"); got.Access != Deny {
		t.Errorf("Lookup with a bad rule = %s, want deny", got.Access)
	}
}

// TestGlobAgreesWithDoublestar compares with the library whose conventions
// these are, on the ground where they agree: ASCII, closed classes,
// and no "/**/**" at the end, which the library matches only from two levels
// down.
func TestGlobAgreesWithDoublestar(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "b", "ab", "*", "?", "[ab]", "[!a]", "{a,bb}", "{a,b/a}", "a*", "*b", "**", `\a`, "a?"})
	name := rapid.SampledFrom([]string{"a", "b", "ab", "ba", "aab", "bb", ".a"})
	rapid.Check(t, func(rt *rapid.T) {
		glob := "/" + strings.Join(rapid.SliceOfN(part, 1, 5).Draw(rt, "glob"), "/")
		path := "/" + strings.Join(rapid.SliceOfN(name, 1, 5).Draw(rt, "path"), "/")
		want := false
		for p := path; p != ""; p = p[:strings.LastIndexByte(p, '/')] {
			ok, err := doublestar.Match(glob, p)
			if err != nil {
				rt.Fatalf("doublestar: %v", err)
			}
			want = want || ok
		}
		got := globMatches(t, glob, path)
		// "X/**" is X as well; after a wildcard the library forgets that.
		if above, ok := strings.CutSuffix(glob, "/**"); ok && got && !want && above != "" && globMatches(t, above, path) {
			return
		}
		if got != want && glob != "/**" && !strings.HasSuffix(glob, "/**/**") {
			rt.Fatalf("%q on %q = %v, doublestar says %v", glob, path, got, want)
		}
	})
}

// FuzzGlob: no pattern crashes or hangs; an escaped path matches itself, and
// a pattern that compiles decides every path.
func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{
		{"**/*.env", "a/.env"}, {"[", "["}, {"{a,b}", "a"}, {`\`, `\`}, {"[!\xff-\xfe]", "\xff"},
		{"a**b/**/**", "ab"}, {"{{{{", ""}, {"[]]", "]"}, {"*a*a*a*a*a*b", "aaaaaaaaaaaaaaaa"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, glob, path string) {
		if strings.IndexByte(path, 0) < 0 && path != "" && len(path) < 1000 {
			p := cleanPath("/" + path)
			if p != "/" && !globMatches(t, pathglob.Literal(p), p) {
				t.Errorf("the escaped form %q does not match %q", pathglob.Literal(p), p)
			}
		}
		if strings.Contains(path, "/") {
			return
		}
		patterns, err := pathglob.Compile(glob)
		if err != nil {
			if patterns != nil {
				t.Errorf("%q: an error and patterns", glob)
			}
			return
		}
		if !strings.ContainsAny(glob, `*?[{}\/`) && glob != "." && glob != "" && !globMatches(t, "/"+glob, "/"+glob) {
			t.Errorf("the plain pattern %q does not match itself", glob)
		}
	})
}
