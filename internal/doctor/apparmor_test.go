package doctor

import (
	"strings"
	"testing"
)

func TestProfile(t *testing.T) {
	tests := []struct{ self, want, err string }{
		{self: "/usr/local/bin/carrel", want: `profile carrel "/usr/local/bin/carrel" flags=(unconfined) {`},
		{self: "/opt/a b/c,d:e=f/carrel-1.2+3", want: `profile carrel "/opt/a b/c,d:e=f/carrel-1.2+3" flags=(unconfined) {`},
		{self: "carrel", err: "not an absolute path"},
		{self: "", err: "not an absolute path"},
		{self: "/usr/../tmp/carrel", err: "cannot stand in one"},
		{self: "/usr//carrel", err: "cannot stand in one"},
		{self: "/usr/bin/carrel (deleted)", err: "cannot stand in one"},
	}
	// What has a meaning in the language: ends of words and rules, patterns,
	// variables, escapes, comments, bytes that are no text.
	for _, hostile := range []string{"\"", "\\", "*", "**", "?", "[a]", "{a,b}", "^", "@{HOME}", "$x", "#x", "\n}", "\t", "\r", "\x00", "\x7f", "\xff", "é", "\u202e", "<x>", "|", "!", "~", "(", "'", ";", "%", "&"} {
		tests = append(tests, struct{ self, want, err string }{self: "/a" + hostile + "/carrel", err: "cannot stand in one"})
	}
	for _, tt := range tests {
		got, err := Profile(tt.self)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) || got != "" {
				t.Errorf("Profile(%q) = %q, %v, want an error with %q", tt.self, got, err, tt.err)
			}
			continue
		}
		if err != nil || !strings.Contains(got, tt.want+"\n  userns,\n") {
			t.Errorf("Profile(%q) = %v\n%s\nwant the line %s", tt.self, err, got, tt.want)
		}
	}
}

// FuzzProfile: a path is in the profile once, as it is, between quotes of its
// own, or there is no profile.
func FuzzProfile(f *testing.F) {
	for _, seed := range []string{"/usr/bin/carrel", "/a\" {\n}", "/@{x}", "/a\\", "/ü", "/a b"} {
		f.Add(seed)
	}
	plain, err := Profile("/X")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got, err := Profile(path)
		if err != nil {
			return
		}
		if want := strings.Replace(plain, `"/X"`, `"`+path+`"`, 1); got != want || strings.ContainsAny(path, "\"\\\n*?[]{}^@#") {
			t.Errorf("Profile(%q):\n%s", path, got)
		}
	})
}

func TestQuoted(t *testing.T) {
	for word, want := range map[string]string{"": "''", "/a/b-c_1.2": "/a/b-c_1.2", "a b": "'a b'", "a'b": `'a'\''b'`, "$x": "'$x'", "é": "'é'", "~": "'~'"} {
		if got := quoted(word); got != want {
			t.Errorf("quoted(%q) = %s, want %s", word, got, want)
		}
	}
}
