package named

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"carrel/internal/api"

	"pgregory.net/rapid"
)

// TestNames: a name becomes part of paths, and is told with what would be one.
func TestNames(t *testing.T) {
	for name, good := range map[string]bool{
		"a": true, "A-b_c.9": true, strings.Repeat("x", maxName): true, strings.Repeat("x", maxName+1): false, "": false, ".": false,
		"..": false, ".x": false, "-x": false,
		"_": false, "a/b": false, "a b": false, "a\n": false, "\u00e9": false, "a\x00": false, "a\xff": false,
	} {
		if err := CheckName(name); (err == nil) != good || err != nil && !strings.Contains(err.Error(), "letters, digits") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := CheckPurpose(strings.Repeat("x", maxPurpose)); err != nil {
		t.Error(err)
	}
	if err := CheckPurpose(strings.Repeat("x", maxPurpose+1)); err == nil || !strings.Contains(err.Error(), "513 bytes: at most 512") ||
		len(err.Error()) > 100 {
		t.Errorf("a long purpose: %v", err)
	}
	for project, want := range map[string]string{"/home/u/My App": "My-App", "/": "default", "/x/.hidden": "hidden",
		"/x/\u00e9t\u00e9": "t-", "/x/...": "default"} {
		if got := NameFor(project); got != want {
			t.Errorf("%s is called %q, want %q", project, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		project := "/" + filepath.Clean(rapid.OneOf(rapid.String(), rapid.StringN(60, 80, 200), rapid.StringMatching(`[a.\-/ ]*`)).Draw(t,
			"project"))
		if name := NameFor(project); CheckName(name) != nil {
			t.Errorf("%q would be called %q: %v", project, name, CheckName(name))
		}
	})
}

// TestAppName: a name that is too long loses whole characters, and as few as that takes.
func TestAppName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wanted := rapid.String().Draw(t, "name")
		got := AppName(wanted)
		if !utf8.ValidString(got) || len(got) > maxAppName || !strings.HasPrefix(wanted, got) || len(wanted) <= maxAppName && got != wanted ||
			len(wanted) > maxAppName && len(got) <= maxAppName-utf8.UTFMax {
			t.Errorf("%q: %q", wanted, got)
		}
	})
	if got := AppName(strings.Repeat("x", maxAppName-1) + "é"); got != strings.Repeat("x", maxAppName-1) {
		t.Errorf("%q", got)
	}
	if got := AppName(strings.Repeat("\x80", 2*maxAppName)); len(got) < maxAppName-utf8.UTFMax || len(got) > maxAppName {
		t.Errorf("a name of no characters has %d bytes", len(got))
	}
}

// TestPickApp: what the word of a caller means is one app or none, and never another for what an
// app calls itself.
func TestPickApp(t *testing.T) {
	word := rapid.StringMatching(`[ab]{0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		var apps []api.App
		ids := make(map[string]int)
		for range rapid.IntRange(0, 6).Draw(t, "apps") {
			a := api.App{ID: rapid.StringMatching(`[ab]{1,3}`).Draw(t, "id"), Name: word.Draw(t, "name"), Running: rapid.Bool().Draw(t, "running")}
			if _, twice := ids[a.ID]; twice {
				continue
			}
			ids[a.ID] = len(apps)
			apps = append(apps, a)
		}
		asked := word.Draw(t, "word")
		got, err := PickApp(api.OpLogs, "dev", apps, asked)
		named, begins := -1, 0
		for i, a := range apps {
			if a.Name == asked && (named < 0 || a.Running || !apps[named].Running) {
				named = i
			}
			if asked != "" && strings.HasPrefix(a.ID, asked) {
				begins++
			}
		}
		at, exact := ids[asked]
		switch {
		case exact && (err != nil || got != at), !exact && named >= 0 && (err != nil || got != named),
			!exact && named < 0 && begins != 1 && err == nil, !exact && named < 0 && begins == 1 &&
				(err != nil || !strings.HasPrefix(apps[got].ID, asked)):
			t.Errorf("%q of %+v: %d, %v", asked, apps, got, err)
		}
	})
	if _, err := PickApp(api.OpLogs, "dev", nil, strings.Repeat("x", 10_000)); err == nil || len(err.Error()) > 200 ||
		!strings.Contains(err.Error(), "no app") {
		t.Errorf("a long word: %v", err)
	}
}
