package steplog

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"carrel/internal/history/journal"
)

// TestCarriers: what lies in a directory that moved is called as the nearest one
// says, whatever was asked before; and depth costs no stack.
func TestCarriers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.Custom(func(t *rapid.T) string {
			return "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 5).Draw(t, "parts"), "/")
		})
		moved := rapid.MapOfN(path, rapid.OneOf(path, rapid.Just("")), 0, 4).Draw(t, "moved")
		var posts []journal.Post
		for at, origin := range moved {
			posts = append(posts, journal.Post{Path: journal.Bytes(at), Origin: journal.Bytes(origin), State: journal.State{Kind: journal.Dir}})
		}
		carried := Carriers(posts)
		for range 10 {
			at := path.Draw(t, "path")
			want := at
			for i := strings.LastIndexByte(at, '/'); i > 0; i = strings.LastIndexByte(at[:i], '/') {
				if origin, ok := moved[at[:i]]; ok {
					if want = ""; origin != "" {
						want = origin + at[i:]
					}
					break
				}
			}
			if got := carried(at); got != want {
				t.Fatalf("%q is called %q, want %q; %q", at, got, want, moved)
			}
		}
	})
	deep := strings.Repeat("/d", 30_000)
	if got := Carriers(nil)(deep); got != deep {
		t.Error("a deep path is called otherwise")
	}
}
