package agents

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestFollow: the user's own link leads where it leads in home, and what another
// workspace may have put at its end leads nowhere.
func TestFollow(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"real/.plain/s", "real/dot/abs", "real/dot/rel", "real/dot/bad", "real/dot/sub", "real/.ssh/x", "outside"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for at, to := range map[string]string{
		"home": base + "/real", "real/.abs": base + "/real/dot/abs", "real/.rel": "dot/rel/.", "real/.named": base + "/home/dot/abs", "real/.up": "dot/../dot/rel",
		"real/.chain": "dot/second", "real/dot/second": "../.ssh", "real/.deep": "dot/bad", "real/dot/bad/s": base + "/real/.ssh", "real/.through": "dot/second/x",
		"real/.out": base + "/outside", "real/.far": "../outside", "real/.all": ".", "real/.lost": "nowhere", "real/.loop": ".loop", "real/.self": base + "/home",
	} {
		if err := os.Symlink(to, filepath.Join(base, at)); err != nil {
			t.Fatal(err)
		}
	}
	for place, want := range map[string]string{
		".plain/s": ".plain/s", ".plain/s/new/x": ".plain/s/new/x", ".new": ".new", ".": ".", "": ".", ".abs/s": "dot/abs/s", ".rel": "dot/rel", ".named/s/t": "dot/abs/s/t", ".up/s": "dot/rel/s", ".all": ".", ".self": ".",
		".chain": "", ".chain/s": "", ".deep/s": "", ".deep/s/t": "", ".deep/t": "dot/bad/t", ".through": "", ".out": "", ".out/s": "", ".far": "", ".lost": "", ".lost/s": "", ".loop": "",
	} {
		real, got, err := Follow(base+"/home", place)
		if (err != nil) != (want == "") || err == nil && (real != base+"/real" || got != want) || errors.Is(err, fs.ErrNotExist) != (place == ".lost" || place == ".lost/s") {
			t.Errorf("%q: %q %q, %v; want %q", place, real, got, err, want)
		}
	}
	if _, _, err := Follow(base+"/none", "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no home: %v", err)
	}
}
