//go:build linux

package hostwritable

import (
	"os"
	"path/filepath"
	"testing"

	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// writes judges for a project that programs inside write.
func writes(t *testing.T, project string) Grants {
	t.Helper()
	scope := policy.Scope{Cwd: project, Project: project, Home: "/nohome", Tmp: "/tmp"}
	eff, err := policy.Decide(scope, nil, []policy.Layer{policy.Defaults(policy.Agent)})
	if err != nil {
		t.Fatal(err)
	}
	return Grants{Policy: eff}
}

func tree(t *testing.T, root string, names ...string) {
	t.Helper()
	for _, n := range names {
		full := filepath.Join(root, n)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBinds: a directory of the host that is put elsewhere is written by its other place.
func TestBinds(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree(t, dir, "proj/f", "home/shared/f", "home/f")
	g := writes(t, dir+"/proj")
	for _, readOnly := range []bool{false, true} {
		g.Binds = []sandbox.Mount{{Source: dir + "/home/shared", ReadOnly: readOnly}, {}}
		if got := g.At(dir + "/home/shared/f"); got == readOnly {
			t.Errorf("read-only %v: writable %v", readOnly, got)
		}
		if g.At(dir + "/home/f") {
			t.Errorf("read-only %v: its neighbour is writable", readOnly)
		}
	}
}

// TestOnTheWay: what programs inside can exchange on the way to a place counts, by
// whatever spelling and through whatever links, and each time as it is then.
func TestOnTheWay(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree(t, dir, "proj/f", "proj/sub/f", "home/f", "home/d/f")
	for name, to := range map[string]string{
		"home/.gitconfig": dir + "/proj/link", "proj/link": "../home/f", "home/fine": "f", "home/far": dir + "/home/fine", "home/up": "../proj/sub/../../home/f", "home/loop": "loop", "home/gone": "../proj/none", "home/pd": "../proj", "home/ps": "../proj/sub", "top": "home",
		"home/over": "../proj/link/../f", "home/dd": "../proj/dlink/f", "proj/dlink": "../home/d",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	g := writes(t, dir+"/proj")
	for name, want := range map[string]bool{
		"proj/f": true, "proj": true, "proj/": true, "proj/none": true, "proj/sub/f": true, "home/f": false, "home/none": false, "home/none/x": false, "home/fine": false, "home/far": false, "top/fine": false, "home/d/../f": false,
		"home/.gitconfig": true, "proj/link": true, "top/.gitconfig": true, "home/up": true, "home/loop": true, "home/gone": true, "home/pd/f": true, "home/pd/../home/f": true, "home/ps/../f": true, "home/over": true, "home/dd": true, "home/f/x": false, "proj/../home/f": true, "home/../home/f": false,
	} {
		if got := g.At(dir + "/" + name); got != want {
			t.Errorf("%s: writable is %v", name, got)
		}
	}
	if !g.At("home/f") {
		t.Error("a place that begins nowhere is not refused")
	}
	if err := os.Remove(dir + "/home/fine"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../proj/f", dir+"/home/fine"); err != nil || !g.At(dir+"/home/far") {
		t.Errorf("an answer is remembered: %v", err)
	}
}

// TestBelowLinks: settings of the person's that are links into the project can be written
// from inside, those that lead elsewhere cannot.
func TestBelowLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree(t, dir, "proj/f", "home/.gnupg/gpg.conf", "home/.config/gh/config.yml", "home/dots/f")
	g := writes(t, dir+"/proj")
	if g.Below(dir+"/home/.gnupg") || g.Below(dir+"/home/.config/gh") {
		t.Fatal("the person's own can be written inside")
	}
	link := func(name, to string) {
		t.Helper()
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("home/.gnupg/gpg.conf", "home/dots/f")
	if g.Below(dir + "/home/.gnupg") {
		t.Error("a link elsewhere")
	}
	link("home/.gnupg/gpg.conf", "proj/f")
	link("home/.config/gh/config.yml", "proj/none")
	if !g.Below(dir+"/home/.gnupg") || !g.Below(dir+"/home/.config/gh") {
		t.Error("links into the project are not seen")
	}
}
