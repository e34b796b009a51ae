package main

import (
	"os"
	"slices"
	"testing"
)

func TestParseStat(t *testing.T) {
	for _, c := range []struct {
		in          string
		pid, parent int
		ok          bool
	}{
		{"12 (sleep) S 7 12 1 0", 12, 7, true},
		{"12 (a) S 9) R 7 12", 12, 7, true},
		{"12 (sleep", 0, 0, false},
		{"", 0, 0, false},
		{"x (y) S z", 0, 0, false},
		{") (", 0, 0, false},
	} {
		pid, parent, ok := parseStat(c.in)
		if ok != c.ok || ok && (pid != c.pid || parent != c.parent) {
			t.Errorf("%q: got %d, %d, %v", c.in, pid, parent, ok)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("12 (sleep) S 7 12 1 0")
	f.Add("1 ()))(( 2")
	f.Fuzz(func(t *testing.T, s string) { parseStat(s) })
}

func TestPSS(t *testing.T) {
	if got := pssOf("7f00-7fff ---p 0 00:00 0 [rollup]\nRss: 9 kB\nPss:  123 kB\nPss_Dirty: 5 kB\n"); got != 123 {
		t.Errorf("got %d, want 123", got)
	}
	if got := pssOf("nothing"); got != 0 {
		t.Errorf("got %d, want 0", got)
	}
}

func TestDescendants(t *testing.T) {
	got := descendants(map[int]int{2: 1, 3: 2, 4: 2, 5: 4, 9: 8}, 2)
	slices.Sort(got)
	if !slices.Equal(got, []int{2, 3, 4, 5}) {
		t.Errorf("got %v, want [2 3 4 5]", got)
	}
}

func TestOwnTreeHasMemory(t *testing.T) {
	got, err := treePSS(os.Getpid())
	if err != nil || got <= 0 {
		t.Errorf("got %d KiB, %v, want more than nothing", got, err)
	}
}
