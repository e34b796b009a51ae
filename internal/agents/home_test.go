package agents

import (
	"slices"
	"strings"
	"testing"
)

// TestSharedHoldsNoCode: what a shared home shares has no settings, hooks, logins or
// programs in it, and nothing of another agent.
func TestSharedHoldsNoCode(t *testing.T) {
	for _, a := range Known() {
		for _, s := range a.Shared {
			if !a.shareable(s) {
				t.Errorf("%s: %q is shared, and is or holds what must not be", a.Name, s.Place)
			}
			for _, other := range Known() {
				if other.Name != a.Name && slices.ContainsFunc(other.State, func(o string) bool { return below(s.Place, o) && !a.inState(o) }) {
					t.Errorf("%s: %q belongs to %s", a.Name, s.Place, other.Name)
				}
			}
		}
	}
	claude, _ := ByName("claude")
	gemini, _ := ByName("gemini")
	for _, bad := range []SharedPlace{{Place: ".claude"}, {Place: ".claude/hooks"}, {Place: ".claude/hooks/x"}, {Place: ".claude/settings.json", File: true},
		{Place: ".claude/.credentials.json", File: true}, {Place: ".claude/.claude.json", File: true}, {Place: ".claude/local"}, {Place: ".ssh"}} {
		if claude.shareable(bad) {
			t.Errorf("%+v could be shared", bad)
		}
	}
	if gemini.shareable(SharedPlace{Place: ".gemini", Except: []string{"settings.json"}}) {
		t.Error("a place with one of many exceptions could be shared")
	}
}

// shareable reports whether a home-relative place may be shared: it is no place that is
// settings, a login or a program, lies in none, and has none but those left out of it.
func (a Agent) shareable(s SharedPlace) bool {
	left := func(place string) bool {
		return slices.ContainsFunc(s.Except, func(e string) bool { return below(place, s.Place+"/"+e) })
	}
	var kept []string
	kept = append(append(append(kept, a.Config...), a.Credentials...), a.Programs...)
	for _, m := range a.MergeBack {
		kept = append(kept, m.File, m.Inside())
	}
	for _, p := range a.JSON {
		kept = append(kept, p.Host, p.Private)
	}
	return a.inState(s.Place) && !slices.ContainsFunc(kept, func(place string) bool {
		return below(s.Place, place) || below(place, s.Place) && !left(place)
	})
}

func TestPlanShared(t *testing.T) {
	gemini, _ := ByName("gemini")
	want := []StateBind{
		{Source: "/h/.gemini/tmp", Target: "/g/.gemini/tmp", Writable: true, Dir: true},
		{Source: "/p/.gemini/tmp/bin", Target: "/g/.gemini/tmp/bin", Writable: true, Dir: true},
	}
	if got := PlanShared(gemini, "/h", "/g", "/p"); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}

// TestPlanOwn: every known agent has its directories in one of its own, and nothing of
// the host but its program.
func TestPlanOwn(t *testing.T) {
	for _, a := range Known() {
		seen := map[string]bool{}
		for i, b := range PlanOwn(a, "/h", "/h", "/own").Binds {
			if seen[b.Source] || seen[b.Target] {
				t.Errorf("%s: %+v comes twice", a.Name, b)
			}
			seen[b.Source], seen[b.Target] = true, true
			switch {
			case i < len(a.State):
				want := "/own"
				if len(a.State) > 1 {
					want += "/" + a.State[i]
				}
				if b.Source != want || b.Target != "/h/"+a.State[i] || !b.Writable {
					t.Errorf("%s: %+v, want %s", a.Name, b, want)
				}
			case b.Writable || !strings.HasPrefix(b.Source, "/h/") || !slices.Contains(a.Programs, strings.TrimPrefix(b.Source, "/h/")):
				t.Errorf("%s: %+v of the host", a.Name, b)
			}
		}
	}
}
