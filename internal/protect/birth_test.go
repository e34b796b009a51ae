package protect

import (
	"slices"
	"strings"
	"testing"
)

func TestWithin(t *testing.T) {
	for path, want := range map[string]string{
		"a/b/hooks/x": "a/b", "config": ".", "a/config": "a", "a/config/b": "", "a/info/attributes": "a", "a/info/b": "", "HEAD": ".", "a/HEAD": "a", "x/objects/ab/cd": "", "x/objects": "x",
		"hooks/a/hooks/b": ". hooks/a", ".git/config": "", "a/.git/hooks/x": "", "src/main.go": "", "x/remotes/origin": "x", "": "",
		".git/x/config": ".git/x", "a/.git/x/hooks/y": "a/.git/x", ".git/refs/heads/config": ".git/refs/heads", "x/worktrees": "x", "x/worktrees/w": "",
	} {
		dirs := Within(path, false)
		for i, d := range dirs {
			if d == "" {
				dirs[i] = "."
			}
		}
		if got := strings.Join(dirs, " "); got != want {
			t.Errorf("Within(%q) = %q, want %q", path, got, want)
		}
	}
	if got := Within("A/Hooks/x", true); !slices.Equal(got, []string{"A"}) {
		t.Errorf("without case: %q", got)
	}
	if got := Within("A/Hooks/x", false); len(got) != 0 {
		t.Errorf("with case: %q", got)
	}
}
