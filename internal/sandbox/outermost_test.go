package sandbox

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestOutermost(t *testing.T) {
	for _, tt := range []struct{ in, want []string }{
		{nil, nil},
		{[]string{"/a/b", "/a", "/a-b", "/a/b/c", "/ab", "/a"}, []string{"/a", "/a-b", "/ab"}},
		{[]string{"/b", "/", "/a/c"}, []string{"/"}},
		{[]string{"/a/c/d", "/a/b", "/a/c"}, []string{"/a/b", "/a/c"}},
	} {
		if got := Outermost(slices.Clone(tt.in)); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
	var many []string
	for i := range 200_000 {
		many = append(many, fmt.Sprintf("/home/desk/q%d", i))
	}
	if start := time.Now(); len(Outermost(many)) != len(many) || time.Since(start) > 5*time.Second {
		t.Errorf("%d paths took %v", len(many), time.Since(start))
	}
}

// TestManyPins: a project's own file can ask for as many as there are lines in it.
func TestManyPins(t *testing.T) {
	start := time.Now()
	p := compile(t, func(in *Input) {
		for i := range 70_000 {
			in.Pins = append(in.Pins, fmt.Sprintf("/w/q%d", i), "/w")
		}
	}, "/w=write")
	if n := len(p.Mounts); n < 70_000 || n > 71_000 || time.Since(start) > 5*time.Second {
		t.Errorf("%d mounts took %v", n, time.Since(start))
	}
}
