package main

import (
	"fmt"
	"strings"
)

// took is what one run took, in milliseconds; inside is zero for what does not
// measure itself.
type took struct{ inside, whole, cpu float64 }

// measures are the times of a run that a table of pairs shows.
var measures = [...]struct {
	name string
	of   func(took) float64
}{
	{"inside", func(t took) float64 { return t.inside }},
	{"start to end", func(t took) float64 { return t.whole }},
	{"CPU", func(t took) float64 { return t.cpu }},
}

// Places in measures.
const (
	inside = iota
	wholeRun
	cpuTime
)

// pair is one job done in two ways.
type pair struct {
	name    string
	ways    [2][]took
	floor   []took // the first way with a bare listener, where that was measured
	least   []took // and with one that makes the calls
	problem string
}

func pairOf(name string, first, second *contender) pair {
	p := pair{name: name, ways: [2][]took{first.took, second.took}}
	for i, c := range []*contender{first, second} {
		if c.problem != nil {
			p.problem = c.problem.Error()
			p.ways[i] = nil
		}
	}
	return p
}

func (p pair) sum(way, measure int) summary {
	var s samples
	for _, t := range p.ways[way] {
		s = append(s, measures[measure].of(t))
	}
	return s.summarise()
}

// ratio is the second way's median over the first's.
func (p pair) ratio(measure int) float64 {
	return ratio(p.sum(1, measure).median, p.sum(0, measure).median)
}

// fastest is the ratio of minima, which other programs on the machine disturb least.
func (p pair) fastest(measure int) float64 {
	return ratio(p.sum(1, measure).min, p.sum(0, measure).min)
}

// failed notes why a table is not, or only partly, measured; nothing for nil.
func (t *table) failed(err error) {
	if err != nil {
		t.about += " Not measured: " + err.Error()
	}
}

// writePairs gives a line to each job, and four columns to each measure.
func (t *table) writePairs(b *strings.Builder) {
	fmt.Fprintf(b, "| %s |", t.unit)
	rule := "|---|"
	for _, m := range measures {
		fmt.Fprintf(b, " %s: %s | %s | ratio | of minima |", m.name, t.ways[0], t.ways[1])
		rule += "--:|--:|--:|--:|"
	}
	fmt.Fprintf(b, " runs | note |\n%s--:|---|\n", rule)
	for _, p := range t.pairs {
		fmt.Fprintf(b, "| %s |", p.name)
		for m := range measures {
			fmt.Fprintf(b, " %s | %s | %s | %s |", number(p.sum(0, m).median), number(p.sum(1, m).median), times(p.ratio(m)), times(p.fastest(m)))
		}
		fmt.Fprintf(b, " %d | %s |\n", min(len(p.ways[0]), len(p.ways[1])), escape(p.problem))
	}
}
