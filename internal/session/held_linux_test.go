package session

import (
	"os"
	"slices"
	"strings"
	"testing"

	"carrel/internal/policy"
)

// TestNamesThatWereBorn: a sensitive name that a run makes, turns into something else or
// removes is listed, but for what its broker has decided.
func TestNamesThatWereBorn(t *testing.T) {
	d := decidedIn(t, policy.Rule{Path: "~/p/secret", Access: policy.Deny}, policy.Rule{Path: "~/p/kept", Access: policy.Deny},
		policy.Rule{Path: "~/other/out", Access: policy.Deny})
	at := func(name string) string { return d.Place.Project + "/" + name }
	write := func(file string) {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(at("kept"))
	before := sensitiveNow(d)
	if got := (&madeNames{}).born(d, before); len(got) != 0 {
		t.Errorf("nothing was done: %q", got)
	}
	write(at("secret"))
	write(at("plain"))
	write(d.Place.Home + "/other/out")
	if err := os.Remove(at("kept")); err != nil {
		t.Fatal(err)
	}
	yes := func(string) bool { return true }
	for name, c := range map[string]struct {
		made madeNames
		want string
	}{
		"nobody decided":  {madeNames{}, "kept secret"},
		"a new one":       {madeNames{expected: yes}, "kept"},
		"one that went":   {madeNames{removable: yes}, "secret"},
		"all was decided": {madeNames{expected: yes, removable: yes}, ""},
	} {
		if got := strings.Join(c.made.born(d, before), " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	// What was there is something else now, whatever was expected of new names.
	if err := os.Symlink("plain", at("kept")); err != nil {
		t.Fatal(err)
	}
	m := madeNames{expected: yes, removable: yes}
	if got := m.born(d, before); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("a file that became a link: %q", got)
	}
	if d.Policy.Backend = policy.BackendNone; sensitiveNow(d) != nil {
		t.Error("without walls names are compared")
	}
}
