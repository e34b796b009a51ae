package hostview

import "testing"

// TestWithIgnored: patterns come behind those that are there, and nothing is added without any.
func TestWithIgnored(t *testing.T) {
	had := []File{{Path: "/h/.config/git/ignore", Data: []byte("a")}, {Path: "/x"}}
	got := WithIgnored(had, "/h", []byte("b\n"))
	if len(got) != 2 || string(got[0].Data) != "a\nb\n" || string(had[0].Data) != "a" {
		t.Errorf("%+v, had %+v", got, had)
	}
	if got := WithIgnored(nil, "/h", []byte("b\n")); len(got) != 1 || got[0].Path != "/h/.config/git/ignore" || string(got[0].Data) != "b\n" {
		t.Errorf("%+v", got)
	}
	if len(WithIgnored(nil, "", []byte("b"))) > 0 || len(WithIgnored(nil, "/h", nil)) > 0 {
		t.Error("a file of nothing, or nowhere")
	}
}

// TestGitPattern: what gitignore(5) would read as something else is escaped.
func TestGitPattern(t *testing.T) {
	for name, want := range map[string]string{"a/b": "a/b", "*?[x]": `\*\?\[x\]`, "! #": `\!\ \#`, `\`: `\\`} {
		if got := GitPattern(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
