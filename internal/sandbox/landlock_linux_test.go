package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/sandbox/landlock"
)

func TestFloorOfLandlock(t *testing.T) {
	for abi, holds := range map[int]bool{0: false, 1: false, 5: false, 6: true, 9: true} {
		err := standsOn(abi)
		var u *landlock.UnsupportedError
		if holds != (err == nil) || !holds && (!errors.As(err, &u) || !strings.Contains(err.Error(), "needs ABI 6")) {
			t.Errorf("ABI %d: %v", abi, err)
		}
	}
}

// TestSpared: of what has something hidden in it everything else is granted, and
// no link.
func TestSpared(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"a", "secret", "deep/b", "deep/secret", "other/c"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, f)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("secret", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	got, err := spared([]Grant{{Path: dir}, {Path: dir, Write: true}}, []string{filepath.Join(dir, "secret"), filepath.Join(dir, "deep/secret")})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range got {
		if g.Ino == 0 && !g.Write {
			t.Errorf("%s is not pinned", g.Path)
		}
		names = append(names, strings.TrimPrefix(g.Path, dir))
	}
	if all := strings.Join(names, " "); all != "/a /deep/b /other " {
		t.Errorf("granted: %q", all)
	}
}

// TestFurnishStaysInside: nothing is made out of the private directory.
func TestFurnishStaysInside(t *testing.T) {
	private, out := t.TempDir(), t.TempDir()
	if err := os.Symlink(out, filepath.Join(private, "link")); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{out + "/x", private + "/../x", private, private + "/link/x"} {
		if err := furnish(private, []Mount{{Kind: WriteFile, Target: target, Data: []byte("x"), Perm: 0o600}}); err == nil {
			t.Errorf("%q was made", target)
		}
	}
	if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
		t.Errorf("made outside: %v %v", left, err)
	}
	if err := furnish(private, []Mount{{Kind: WriteFile, Target: private + "/d/x", Data: []byte("x"), Perm: 0o600}, {Kind: MakeSymlink, Target: private + "/d/l", Source: "/y"}}); err != nil {
		t.Error(err)
	}
}
