package pathname

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		path, dir string
		want      bool
	}{
		{"/", "/", true}, {"/a", "/", true}, {"/a/b", "/", true}, {"/", "/a", false},
		{"/a", "/a", true}, {"/a/b", "/a", true}, {"/ab", "/a", false}, {"/a", "/a/b", false}, {"/a/bc/d", "/a/b", false},
		{"/a\xff/b", "/a\xff", true}, {"/a\n/b", "/a", false},
	} {
		if got := Within(c.path, c.dir); got != c.want {
			t.Errorf("%q within %q: %v", c.path, c.dir, got)
		}
	}
}

// TestWithinAsRelative compares with the standard library's way from one to the other.
func TestWithinAsRelative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.Custom(func(t *rapid.T) string {
			return path.Clean("/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "..a", "\xff"}), 0, 4).Draw(t, "parts"), "/"))
		})
		p, dir := draw.Draw(t, "path"), draw.Draw(t, "dir")
		rel, err := filepath.Rel(dir, p)
		if want := err == nil && rel != ".." && !strings.HasPrefix(rel, "../"); Within(p, dir) != want {
			t.Fatalf("%q within %q: %v, and the way is %q", p, dir, !want, rel)
		}
	})
}
