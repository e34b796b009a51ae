package policy

import (
	"testing"

	"pgregory.net/rapid"
)

// TestSameBelow: what it takes for the same is decided alike, however deep, and
// a stand says what a lookup says.
func TestSameBelow(t *testing.T) {
	names := []string{"a", "b", "c", "zz"}
	dirs := []string{"/w", "/w/a", "/w/a/b", "/w/b", "/w/c", "/w/c/a", "/home/u/a", "/home/u/zz", "/usr/a"}
	rapid.Check(t, func(t *rapid.T) {
		e := decideOr(t, nil, genLayers(t))
		from, to := rapid.SampledFrom(dirs).Draw(t, "from"), rapid.SampledFrom(dirs).Draw(t, "to")
		s, ok := e.Stand(from)
		u, ok2 := e.Stand(to)
		if !ok || !ok2 {
			t.Fatalf("no stand at %s or %s", from, to)
		}
		same := s.SameBelow(u)
		for range 4 {
			if a, b := s.Decision(), e.Lookup(from); a.Access != b.Access || a.Protected != b.Protected || a.Rule != b.Rule {
				t.Fatalf("%s: a stand says %v, a lookup %v", from, a, b)
			}
			name := rapid.SampledFrom(names).Draw(t, "name")
			s, u, from, to = s.Step(name), u.Step(name), from+"/"+name, to+"/"+name
			if a, b := e.Lookup(from), e.Lookup(to); same && (a.Access != b.Access || a.Protected != b.Protected) {
				t.Fatalf("taken for the same, but %s is %v and %s is %v\n%v", from, a, to, b, e.Rules)
			}
		}
	})
}

// TestSameBelowIsNotAlwaysFalse: directories that no rule tells apart need no
// search, whatever the depth of a pattern.
func TestSameBelowIsNotAlwaysFalse(t *testing.T) {
	e, err := Decide(testScope(), nil, []Layer{{Kind: LayerCommandLine, Request: Request{Files: []FileRequest{glob("**/*.pem", Deny), glob("**/conf/*", Read), glob("a/**/b/*.sh", Read)}}}})
	if err != nil {
		t.Fatal(err)
	}
	at := func(p string) Stand {
		s, ok := e.Stand(testScope().Project + p)
		if !ok {
			t.Fatal(p)
		}
		return s
	}
	for _, c := range []struct {
		from, to string
		same     bool
	}{
		{"/x", "/y", true}, {"/x/y", "/z", true}, {"/x", "/conf", false}, {"/x/conf", "/y/conf", true},
		{"/conf/x", "/x", false}, {"/a", "/x", false}, {"/a/x", "/a/y/z", true}, {"/a/b", "/a/x", false},
	} {
		if got := at(c.from).SameBelow(at(c.to)); got != c.same {
			t.Errorf("%s and %s: %v, want %v", c.from, c.to, got, c.same)
		}
	}
}
