package quickexec

import (
	"slices"
	"strings"
	"testing"
)

// TestCommandDirectory: a command starts in the directory that is named, or where the
// caller is, but not where the workspace has nothing.
func TestCommandDirectory(t *testing.T) {
	for _, tt := range []struct{ project, cwd, dir, want string }{
		{"/p", "/p", "", "/p"},
		{"/p", "/p/a", "", "/p/a"},
		{"/p", "/px", "", ""},
		{"/p", "/", "", ""},
		{"/p", "", "", ""},
		{"/p", "/p/a", "/tmp", "/tmp"},
		{"/p", "/p/a", "b", "/p/a/b"},
		{"/p", "/p/a", "../c", "/p/c"},
		{"/p", "/elsewhere", "b", "/elsewhere/b"},
		{"/", "/a", "", "/a"},
	} {
		c, err := NewCommand(tt.project, Caller{Dir: tt.cwd}, []string{"x"}, tt.dir, nil)
		if err != nil || c.Dir != tt.want || !slices.Equal(c.Argv, []string{"x"}) {
			t.Errorf("%+v: %+v, %v", tt, c, err)
		}
	}
}

// TestCommandEnvironment: a variable is given, or taken from the caller, who must have it.
func TestCommandEnvironment(t *testing.T) {
	from := Caller{Lookup: func(name string) (string, bool) { return "mine", name == "HERE" }}
	c, err := NewCommand("/p", from, nil, "", []string{"A=b=c", "HERE", "E="})
	if want := []string{"A=b=c", "HERE=mine", "E="}; err != nil || !slices.Equal(c.Env, want) {
		t.Errorf("%q, %v, want %q", c.Env, err, want)
	}
	_, err = NewCommand("/p", from, nil, "", []string{"GONE"})
	if err == nil || !strings.Contains(err.Error(), "--env GONE: there is no such variable here") {
		t.Errorf("%v", err)
	}
}
