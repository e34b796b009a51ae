package protect

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// TestWithinLeadsToEachControl: whatever is protected in a git directory is found as a piece of
// one where that has a name of its own, so that a bare repository is as safe as a .git.
func TestWithinLeadsToEachControl(t *testing.T) {
	part := rapid.SampledFrom([]string{"HEAD", "config", "config.worktree", "commondir", "gitdir", "hooks", "pre-commit",
		"pre-commit.sample", "info", "attributes",
		"lazygit.yml", "glab-cli", "config.yml", "remotes", "branches", "origin", "worktrees", "modules", "refs", "logs", "objects", "x"})
	rapid.Check(t, func(t *rapid.T) {
		path := strings.Join(rapid.SliceOfN(part, 1, 5).Draw(t, "parts"), "/")
		fold := rapid.Bool().Draw(t, "fold")
		if fold {
			path = strings.ToUpper(path)
		}
		rule, level := Repository(path, fold)
		if level != Protected || strings.Contains(rule, "git has none there") {
			return
		}
		const bare = "a/b"
		for _, dir := range Within(bare+"/"+path, fold) {
			rest, in := strings.CutPrefix(bare+"/"+path, dir+"/")
			if _, level := Repository(rest, fold); in && len(dir) >= len(bare) && level == Protected {
				return
			}
		}
		t.Errorf("%s is protected in a git directory, and in the bare repository %s no directory is looked at for it", path, bare)
	})
}

// TestFoldsAsUnicode: each code point that Unicode says differs from a letter of ours in case
// only is that letter, with and without company. The package unicode is the oracle.
func TestFoldsAsUnicode(t *testing.T) {
	for letter := 'a'; letter <= 'z'; letter++ {
		for r := unicode.SimpleFold(letter); r != letter; r = unicode.SimpleFold(r) {
			if got := foldName("x" + string(r) + "\u00ad"); got != "x"+string(letter) {
				t.Errorf("%q folds to %q, want %q", r, got, letter)
			}
		}
	}
	for name, want := range map[string]string{
		".G\u0131T": ".g\u0131t", // a dotless i is another letter
		"\ufb05uff": "stuff", "a\u1e9e": "ass", "a\u200db": "ab", "a\ufe0f": "a", "a. .": "a", "..": "..", " ": " ", "": "",
		"\xff.Git": "\xff.git", "\xffG": "\xffg", "\u212a.\u017f": "k.s",
	} {
		if got := foldName(name); got != want {
			t.Errorf("%q folds to %q, want %q", name, got, want)
		}
	}
}

// TestShortForms: names of 8.3, as vfat makes them up.
func TestShortForms(t *testing.T) {
	for _, c := range []struct {
		short, long string
		want        bool
	}{
		{"git~1", ".git", true}, {"gi~1", ".git", false}, {"git~12", ".git", true}, {"gi7eba~1", ".git", true}, {"gitmod~1", ".gitmodules", true},
		{"gitmod~1.x", ".gitmodules", false}, {"gitatt~1", ".gitmodules", false}, {"config~1.wor", "config.worktree", true},
		{"config~1.wo", "config.worktree", false},
		{"config~1", "config.worktree", false}, {"com~1", "commondir", true}, {"co~1", "commondir", false}, {"~1", ".git", false},
		{"git~", ".git", false},
		{"git~x", ".git", false}, {"git", ".git", false}, {"git~1.", ".git", true}, {"ab~1.c", "a.b.c", true},
	} {
		if got := shortFormOf(c.short, c.long); got != c.want {
			t.Errorf("%q is a short form of %q: %v", c.short, c.long, got)
		}
	}
}

// TestReferencesOfGitDirectories: a file of a worktree or submodule is a reference as it is in
// a git directory of its own, but where a name in front makes it a branch or a log.
func TestReferencesOfGitDirectories(t *testing.T) {
	part := rapid.SampledFrom([]string{"HEAD", "ORIG_HEAD", "refs", "heads", "main", "main.lock", "logs", "index", "x"})
	rapid.Check(t, func(t *rapid.T) {
		path := strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "parts"), "/")
		for _, in := range []string{"worktrees/w/", "modules/lib/", "modules/a/b/"} {
			if Reference(path, false) && !Reference(in+path, false) {
				t.Errorf("%s is a reference, and %s is none", path, in+path)
			}
			if Index(path, false) && !Index(in+path, false) {
				t.Errorf("%s is an index, and %s is none", path, in+path)
			}
		}
		if Reference(path, false) && !Reference(strings.ToUpper(path), true) {
			t.Errorf("%s is a reference, and in capitals none where case does not count", path)
		}
	})
}
