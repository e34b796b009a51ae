//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
)

// pretendAllow has carrel allow more at a terminal, and types what it asks for.
const pretendAllow = `#!/bin/sh
(sleep 1; basename "$PWD"; sleep 1) | script -qec "carrel allow --read .env" /dev/null >said 2>&1
echo over >>said
`

// TestAllowInAProject: what a person allows in a project is there in the next run, in no
// other project, and gone when it is taken away. What an agent has started may not.
func TestAllowInAProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("script", "git")
	w.litter = true // the configuration that is written
	w.write(w.project+"/.env", "SECRET=1\n")
	w.setenv("FROM_OUTSIDE", "passed")
	other := w.home + "/src/other"
	w.outsideSh("mkdir -p " + other + " && cp .env " + other + " && git init -q " + other)
	seen := func(dir string) string {
		return w.finish(w.command("sh", "-c", `cd "$1" && exec "$2" run -- sh -c 'cat .env; echo "$FROM_OUTSIDE"'`, "sh", dir, w.bin)).out
	}
	if got := seen(w.project); got != "\n" {
		t.Fatalf("before: %q", got)
	}
	for _, c := range []struct {
		program string
		want    string
		given   bool
	}{
		{"claude", "only a person at a terminal may allow more", false},
		{"gardener", "read .env is allowed in ", true}, // the canary: nothing tells it from a person's
	} {
		if r := w.finish(w.command(w.script(w.home+"/bin/"+c.program, pretendAllow))); r.code != 0 {
			t.Fatalf("%s: %s", c.program, r)
		}
		if said := w.read(w.project + "/said"); !strings.Contains(said, c.want) {
			t.Errorf("%s: %s", c.program, said)
		}
		if got := exists(w.home + "/.config/carrel/config.yaml"); got != c.given {
			t.Errorf("%s: written: %t", c.program, got)
		}
		_ = os.Remove(w.project + "/said")
	}
	tm := w.openTerminal(w.command(w.bin, "allow", "--env", "FROM_OUTSIDE", "host.example:443"))
	tm.expect("leave it: ")
	tm.send("another name\n")
	if code := tm.wait(); code == 0 || !strings.Contains(tm.all(), "nothing was changed") {
		t.Errorf("another name: %s", tm.all())
	}
	tm = w.openTerminal(w.command(w.bin, "allow", "--env", "FROM_OUTSIDE", "host.example:443"))
	tm.expect("leave it: ")
	tm.send(w.project[strings.LastIndexByte(w.project, '/')+1:] + "\n")
	if code := tm.wait(); code != 0 {
		t.Fatalf("allow: %s", tm.all())
	}
	if got := seen(w.project); got != "SECRET=1\npassed\n" {
		t.Errorf("allowed: %q", got)
	}
	if got := seen(other); got != "\n" {
		t.Errorf("in another project: %q", got)
	}
	if out := w.fine("explain", "--host", "host.example:443", "--", "true"); !strings.Contains(out, "access  allowed") || !strings.Contains(out, "config.yaml:") {
		t.Errorf("explain: %s", out)
	}
	if r := w.run("--", "sh", "-c", "echo 'projects: {/: {write: [/]}}' >> ~/.config/carrel/config.yaml"); r.code == 0 {
		t.Error("a program inside wrote into the configuration")
	}
	w.fine("allow", "--remove", "--read", ".env", "--env", "FROM_OUTSIDE", "host.example:443")
	if got := seen(w.project); got != "\n" || !strings.HasPrefix(w.fine("allow", "--list"), "nothing is allowed") {
		t.Errorf("taken away: %q", got)
	}
}
