package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSummarise(t *testing.T) {
	for _, c := range []struct {
		in               samples
		min, p25, median float64
	}{
		{nil, 0, 0, 0},
		{samples{7}, 7, 7, 7},
		{samples{3, 1}, 1, 1.5, 2},
		{samples{5, 1, 4, 2, 3}, 1, 2, 3},
		{samples{40, 10, 30, 20}, 10, 17.5, 25},
	} {
		s := c.in.summarise()
		if s.n != len(c.in) || s.min != c.min || s.p25 != c.p25 || s.median != c.median {
			t.Errorf("%v: got %+v, want min %v, p25 %v, median %v", c.in, s, c.min, c.p25, c.median)
		}
	}
}

func TestSummaryIsOrdered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := samples(rapid.SliceOfN(rapid.Float64Range(0, 1e6), 1, 50).Draw(t, "samples"))
		before := slices.Clone(in)
		s := in.summarise()
		if !slices.Equal(in, before) {
			t.Fatal("the samples were reordered")
		}
		if !(s.min <= s.p25 && s.p25 <= s.median && s.median <= slices.Max(in)) {
			t.Fatalf("%v: %+v is not in order", in, s)
		}
		shuffled := slices.Clone(in)
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if shuffled.summarise() != s {
			t.Fatal("the order of samples matters")
		}
	})
}

func TestRatio(t *testing.T) {
	if r := ratio(6, 4); r != 1.5 {
		t.Errorf("got %v, want 1.5", r)
	}
	for _, c := range [][2]float64{{1, 0}, {0, 1}, {0, 0}} {
		if r := ratio(c[0], c[1]); !math.IsNaN(r) {
			t.Errorf("ratio%v: got %v, want not a number", c, r)
		}
	}
}
