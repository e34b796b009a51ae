package main

import (
	"math"
	"slices"
)

// samples are measurements of one contender, in any unit.
type samples []float64

// summary is what the tables show of samples.
type summary struct {
	n                int
	min, p25, median float64
}

// summarise gives the summary of samples; all zero for none.
func (s samples) summarise() summary {
	if len(s) == 0 {
		return summary{}
	}
	sorted := slices.Sorted(slices.Values(s))
	return summary{n: len(sorted), min: sorted[0], p25: quantile(sorted, 0.25), median: quantile(sorted, 0.5)}
}

// quantile interpolates linearly between the two nearest of sorted samples,
// which is what R calls type 7. sorted must not be empty, q is from 0 to 1.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(math.Floor(at))
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// ratio is a over b, and not a number when there is nothing to compare with.
func ratio(a, b float64) float64 {
	if b == 0 || a == 0 {
		return math.NaN()
	}
	return a / b
}
