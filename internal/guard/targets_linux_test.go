package guard

import (
	"slices"
	"strings"
	"testing"
)

// TestTargetsOf: a git directory is known by what is in it and by what leads to it, and what
// its configuration names starts where git starts.
func TestTargetsOf(t *testing.T) {
	dir := t.TempDir()
	const names = "[core]\n\thooksPath = hk\n\tfsmonitor = ./fs\n[include]\n\tpath = inc\n"
	tree(t, dir, map[string]string{
		"bare/HEAD": "", "bare/objects/x": "", "bare/refs/x": "", "bare/config": names,
		"none/HEAD": "", "none/refs/x": "", "none/config": names,
		"sep/.git": "gitdir: ../bare\n", "tree/.git": "gitdir: ../bare/worktrees/t\n", "bare/worktrees/t/commondir": "../..\n",
		"own/.git": "gitdir: " + dir + "/p/.git/worktrees/t\n", "p/.git/worktrees/t/commondir": "../..\n", "p/.git/config": names,
	})
	for in, want := range map[string]string{
		"bare": "bare/fs bare/hk bare/inc",
		"none": "",
		"sep":  "bare/hk bare/inc sep/fs sep/hk",
		"tree": "bare/hk bare/inc tree/fs tree/hk",
		"own":  "",
		"p":    "p/.git/hk p/.git/inc p/fs p/hk",
	} {
		var got []string
		for _, target := range TargetsOf(dir+"/"+in, dir+"/p/.git") {
			got = append(got, strings.TrimPrefix(target.Path, dir+"/"))
		}
		slices.Sort(got)
		if s := strings.Join(slices.Compact(got), " "); s != want {
			t.Errorf("%s: %s, want %s", in, s, want)
		}
	}
}
