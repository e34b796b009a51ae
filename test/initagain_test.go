//go:build linux

package e2e

import "testing"

// TestInitAgain: "git init" in a repository finds out again whether the file system keeps modes.
func TestInitAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.repository()
	for range 2 {
		const again = "git init -q . && git init -q n && git init -q n && git config core.filemode && git -C n config core.filemode"
		if out := w.sh(again, historyOn...); out != "true\ntrue\n" {
			t.Errorf("got %q", out)
		}
	}
	if r := w.run(append(historyOn, "--", "chmod", "a-r", ".git/config")...); r.code == 0 {
		t.Error("the configuration was hidden")
	}
}
