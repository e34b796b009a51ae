package main

import (
	"slices"
	"testing"
)

func TestSameView(t *testing.T) {
	got := sameView([]step{
		{"tmpfs", "0755", "/dev", ""}, {"device", "", "/dev/null", ""}, {"bind", "ro", "/usr", "/usr"}, {"bind", "rw,optional", "/c", "/state/c"},
		{"overlay", "", "/h/.npm", "/h/.npm"}, {"pin", "rw,optional", "/p/.git", ""}, {"symlink", "", "/bin", "usr/bin"}, {"cover", "", "/etc/passwd", ""}, {"mask", "", "/nowhere", ""},
	})
	want := []string{"--dev", "/dev", "--ro-bind-try", "/usr", "/usr", "--bind-try", "/state/c", "/c", "--bind-try", "/h/.npm", "/h/.npm",
		"--bind-try", "/p/.git", "/p/.git", "--symlink", "usr/bin", "/bin", "--ro-bind", "/dev/null", "/etc/passwd"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
