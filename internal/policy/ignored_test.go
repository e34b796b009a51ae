package policy

import "testing"

// TestIgnored: patterns hold as gitignore(5) has them, below each place and
// nowhere else.
func TestIgnored(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"node_modules", []string{"/p/node_modules", "/p/a/node_modules/x/y", "/q[1]/node_modules/z"}, []string{"/p", "/p/node_modules2", "/r/node_modules"}},
		{"node_modules/", []string{"/p/node_modules/x", "/p/a/node_modules"}, []string{"/p/a"}},
		{"*.o", []string{"/p/a.o", "/p/d/b.o", "/p/d.o/src"}, []string{"/p/a.oo", "/p/a"}},
		{"/build", []string{"/p/build", "/p/build/x"}, []string{"/p/a/build", "/build"}},
		{"a/b", []string{"/p/a/b", "/p/a/b/c"}, []string{"/p/x/a/b", "/p/a"}},
		{"a/**/b", []string{"/p/a/b", "/p/a/x/y/b"}, []string{"/p/b"}},
		{"**", []string{"/p/a", "/p/a/b"}, []string{"/p", "/q[1]", "/r"}},
		{"{a,b}.log", []string{"/p/a.log", "/p/x/b.log"}, []string{"/p/c.log"}},
		{`\!x`, []string{"/p/!x"}, []string{"/p/x"}},
		{"~x", []string{"/p/~x", "/p/d/~x"}, []string{"/p/x"}},
		{":home", []string{"/p/:home"}, []string{"/p/home"}},
		{"\xff", []string{"/p/\xff", "/p/d/\xff"}, []string{"/p/\xfe"}},
	} {
		g, err := NewIgnored([]string{"/p", "/q[1]"}, []string{c.pattern})
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		for _, p := range c.yes {
			if !g.Match(p) {
				t.Errorf("%s: %q is not ignored", c.pattern, p)
			}
		}
		for _, p := range c.no {
			if g.Match(p) {
				t.Errorf("%s: %q is ignored", c.pattern, p)
			}
		}
	}
	for _, bad := range []string{"", "/", "!x", "a/../b", "{a", `x\`, "a\x00b"} {
		if _, err := NewIgnored([]string{"/p"}, []string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if g, err := NewIgnored(nil, nil); err != nil || g.Match("/p/a") || (*Ignored)(nil).Match("/p") {
		t.Error("nothing ignores something")
	}
}
