package main

import "fmt"

// Ways of a table about layers.
const (
	wayBare   = "without walls"
	wayReview = "--review"
)

// reviewed measures everyday jobs in a layer, beside the same without walls and with the history
// on and off. Another program of the kind, try, is in no package of Debian.
func (b *historySuite) reviewed(fs fileSystem) table {
	t := table{title: "Review: everyday work in a layer on " + fs.name, unit: "ms", ways: [2]string{wayBare, wayReview},
		about: "The same command without walls and as `carrel run --review`, which changes an overlay over the project. " +
			"The verdicts name `--history off` and `--history on`, too. To apply the layer is in none of the times. " + aboutFresh + " " +
			aboutTimes}
	fs, ok := b.onItsOwn(&t, fs)
	if err := b.makeInputs(); err != nil || !ok {
		t.failed(err)
		return t
	}
	ways := []way{{wayBare, func(c []string) []string { return c }}, b.walls(wayReview, "draft"), b.walls(wayOff, "off"), b.walls(wayOn, "on")}
	var inLayer, off, on []float64
	for _, j := range jobs {
		if j.kind == forFuse {
			continue
		}
		list := j.contenders(ways)
		b.anew("review, "+fs.name+": "+j.name, fs, min(j.rounds, b.rounds), list, func(c *contender, one took, out string) (err error) {
			one.inside, err = micros(out)
			c.took = append(c.took, one)
			return err
		})
		p := pairOf(j.name, list[0], list[1])
		t.pairs = append(t.pairs, p)
		if j.kind != writes {
			continue
		}
		inLayer = append(inLayer, p.ratio(inside))
		off = append(off, pairOf(j.name, list[0], list[2]).ratio(inside))
		on = append(on, pairOf(j.name, list[0], list[3]).ratio(inside))
		t.reach(j.name+", inside", p.ratio(inside), 1.2)
	}
	t.reach(fmt.Sprintf("geometric mean of %d writing jobs, inside", len(inLayer)), geometricMean(inLayer), 1.2)
	t.verdicts = append(t.verdicts, fmt.Sprintf("the same with --history off: **%s**, on: **%s**", times(geometricMean(off)),
		times(geometricMean(on))))
	return t
}
