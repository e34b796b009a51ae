//go:build unix

package agents

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFollow: the user's own link leads where it leads in home, and what another
// workspace may have put at its end leads nowhere.
func TestFollow(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"real/.plain/s", "real/dot/abs", "real/dot/rel", "real/dot/bad", "real/dot/sub", "real/.repo/.git", "real/.repo/s", "real/.repo/in", "real/.ssh/x", "outside"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for at, to := range map[string]string{
		"home": base + "/real", "real/.abs": base + "/real/dot/abs", "real/.rel": "dot/rel/.", "real/.named": base + "/home/dot/abs", "real/.up": "dot/../dot/rel",
		"real/.chain": "dot/second", "real/dot/second": "../.ssh", "real/.deep": "dot/bad", "real/dot/bad/s": base + "/real/.ssh", "real/.through": "dot/second/x",
		"real/.out": base + "/outside", "real/.far": "../outside", "real/.all": ".", "real/.lost": "nowhere", "real/.loop": ".loop", "real/.self": base + "/home",
		"real/.first": "link/abs", "real/link": "dot", "real/.repo/in/l": "../s", "real/.repo/in/out": "../../dot",
	} {
		if err := os.Symlink(to, filepath.Join(base, at)); err != nil {
			t.Fatal(err)
		}
	}
	for place, want := range map[string]string{
		".plain/s": ".plain/s", ".plain/s/new/x": ".plain/s/new/x", ".new": ".new", ".": ".", "": ".", ".abs/s": "dot/abs/s", ".rel": "dot/rel", ".named/s/t": "dot/abs/s/t", ".up/s": "dot/rel/s", ".all": ".", ".self": ".", ".first/s": "dot/abs/s", ".repo/in/l/x": ".repo/s/x",
		".chain": "", ".chain/s": "", ".deep/s": "", ".deep/s/t": "", ".deep/t": "dot/bad/t", ".through": "", ".out": "", ".out/s": "", ".repo/in/out": "", ".repo/in/out/abs": "", ".far": "", ".lost": "", ".lost/s": "", ".loop": "",
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

// TestLoginBehindALink: where the link to a login leads may be exchanged by whoever works
// there; then it is neither read nor written, by whatever name.
func TestLoginBehindALink(t *testing.T) {
	const auth = ".codex/auth.json"
	s := newSides(t)
	home := s.places.HostHome
	s.host("dotfiles/codex/auth.json", `{"tokens":{"access_token":"a","refresh_token":"r"}}`)
	s.host("other/x", "")
	s.link(home, "dotfiles/codex", ".codex")
	before, notes := s.in("codex")
	if len(notes) != 0 || !strings.Contains(read(s.places.Private, auth), `"r"`) {
		t.Fatalf("canary: %v %s", notes, read(s.places.Private, auth))
	}
	if err := os.Rename(filepath.Join(home, "dotfiles/codex"), filepath.Join(home, "dotfiles/old")); err != nil {
		t.Fatal(err)
	}
	s.link(home, "../other", "dotfiles/codex")
	s.host("other/auth.json.4711"+tempSuffix, "not ours")
	s.inside(auth, `{"tokens":{"access_token":"b","refresh_token":"n"}}`)
	s.out("codex", before)
	if text := read(home, "other/auth.json"); text != "-" || read(home, "other/auth.json.4711"+tempSuffix) != "not ours" {
		t.Errorf("carried out to %q", text)
	}
	if err := os.Remove(filepath.Join(home, "dotfiles/codex")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(home, "dotfiles/codex"), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		a, _ := ByName("codex")
		_, _, _ = MirrorIn(a, s.places, before)
		_, _, _ = SyncLogins(a, s.places, before)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("it waits at a pipe")
	}
}

// TestFirstLoginBehindALink: a login that is made inside goes out where the user's own
// link leads.
func TestFirstLoginBehindALink(t *testing.T) {
	s := newSides(t)
	home := s.places.HostHome
	s.host("dotfiles/codex/config.toml", "")
	s.link(home, filepath.Join(home, "dotfiles/codex"), ".codex")
	before, _ := s.in("codex")
	s.inside(".codex/auth.json", `{"tokens":{"access_token":"b","refresh_token":"n"}}`)
	notes := s.out("codex", before)
	if text := read(home, "dotfiles/codex/auth.json"); !strings.Contains(text, `"n"`) {
		t.Errorf("%q, %v", text, notes)
	}
}

// TestHiddenBehindALink: what nothing inside may read does not come in by a link.
func TestHiddenBehindALink(t *testing.T) {
	s := newSides(t)
	s.host(".aws/credentials", "KEY")
	s.host("notes/x.md", "fine")
	s.link(s.places.HostHome, "../../.aws/credentials", ".claude/agents/key.md")
	s.link(s.places.HostHome, "../../notes/x.md", ".claude/agents/x.md")
	s.places.Hidden = func(place string) bool { return strings.HasPrefix(place, ".aws") }
	_, notes := s.in("claude")
	s.wantInside(".claude/agents/x.md", "fine")
	s.wantInside(".claude/agents/key.md", "-")
	wantNote(t, notes, "nothing inside may read")
}
