package toolchain

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// search is one in a project with some files, where PATH has some programs.
func search(t *testing.T, files map[string]string, path map[string]string) Search {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Search{Project: dir, Canonical: func(at string) string { return at }, LookPath: func(name string) (string, error) {
		if full := path[name]; full != "" {
			return strings.ReplaceAll(full, "PROJECT", dir), nil
		}
		return "", errors.New("not in PATH")
	}}
}

// TestFind: what a setting means is what is described, by a program from outside.
func TestFind(t *testing.T) {
	both := map[string]string{"devbox": "/bin/devbox", "nix": "/bin/nix"}
	for _, c := range []struct {
		name, setting string
		files, path   map[string]string
		tool, refused string // "" and "" for none
	}{
		{"nothing described", "auto", nil, both, "", ""},
		{"the first that is described", "auto", map[string]string{"devbox.json": "", "flake.nix": ""}, both, "devbox", ""},
		{"the one that is there", "auto", map[string]string{"devbox.json": "", "flake.nix": ""}, map[string]string{"nix": "/bin/nix"}, "nix", ""},
		{"by name", "nix", map[string]string{"devbox.json": "", "flake.nix": ""}, both, "nix", ""},
		{"a lock alone", "auto", map[string]string{"flake.lock": ""}, both, "", ""},
		{"by name, not described", "nix", nil, both, "", "there is no flake.nix"},
		{"by name, not installed", "nix", map[string]string{"flake.nix": ""}, nil, "", "not in PATH"},
		{"the project's own program", "nix", map[string]string{"flake.nix": ""}, map[string]string{"nix": "PROJECT/nix"}, "", "project's own"},
		{"the project's own, unnamed", "auto", map[string]string{"flake.nix": ""}, map[string]string{"nix": "PROJECT/nix"}, "", ""},
	} {
		got, err := search(t, c.files, c.path).Find(c.setting)
		tool := ""
		if got != nil {
			tool = got.Tool
		}
		if tool != c.tool || (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %q, %v; want %q, %q", c.name, tool, err, c.tool, c.refused)
		}
	}
}

// TestHash: another description has another hash, so that its environment is made anew.
func TestHash(t *testing.T) {
	seen := make(map[string]string)
	for name, files := range map[string]map[string]string{
		"one": {"flake.nix": "a"}, "other text": {"flake.nix": "b"}, "with a lock": {"flake.nix": "a", "flake.lock": ""}, "moved": {"flake.nix": "", "flake.lock": "a"},
	} {
		s := search(t, files, map[string]string{"nix": "/bin/nix"})
		first, err := s.Find("nix")
		again, _ := s.Find("nix")
		if err != nil || first.hash != again.hash || seen[first.hash] != "" {
			t.Errorf("%s: %v, the hash is also of %q", name, err, seen[first.hash])
			continue
		}
		seen[first.hash] = name
	}
}

// TestLinkDescribesNothing: a link in the project would have a file elsewhere chosen.
func TestLinkDescribesNothing(t *testing.T) {
	s := search(t, nil, map[string]string{"nix": "/bin/nix"})
	if err := os.Symlink("/etc/passwd", s.Project+"/flake.nix"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Find("auto"); got != nil || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestEnter: the command follows whole and last; without an environment it stays as it is.
func TestEnter(t *testing.T) {
	argv := []string{"make", "a b", "$(x)"}
	if got := (*Toolchain)(nil).Enter(argv); strings.Join(got, "|") != "make|a b|$(x)" {
		t.Errorf("%q", got)
	}
	got := (&Toolchain{"nix", "/p", "h"}).Enter(argv)
	if tail := strings.Join(got[len(got)-6:], "|"); tail != "nix|/p|h|make|a b|$(x)" || got[0] != toolchainShell {
		t.Errorf("%q", got)
	}
	if got := (&Toolchain{"nix", "/p", "h"}).Enter(nil); got != nil {
		t.Errorf("no command becomes %q", got)
	}
}
