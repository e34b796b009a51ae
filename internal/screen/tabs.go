package screen

import (
	"bytes"
	"fmt"
	"slices"
)

// tabStops tells for each column whether a tab stops there.
type tabStops []bool

// usual sets a stop at each eighth column, from a column on.
func (t tabStops) usual(from int) {
	for x := from; x < len(t); x++ {
		t[x] = x%8 == 0
	}
}

// from is the column of the n-th stop to the right of x, or to the left.
func (t tabStops) from(x, n int) int {
	step := 1
	if n < 0 {
		step, n = -1, -n
	}
	for n = min(n, len(t)); n > 0; n-- {
		x += step
		for x > 0 && x < len(t)-1 && !t[x] {
			x += step
		}
		x = clamp(x, 0, len(t)-1)
	}
	return x
}

func (t tabStops) redraw(b *bytes.Buffer) {
	usual := make(tabStops, len(t))
	usual.usual(0)
	if slices.Equal(usual, t) {
		return
	}
	b.WriteString("\x1b[3g")
	for x, stop := range t {
		if stop {
			fmt.Fprintf(b, "\x1b[%dG\x1bH", x+1)
		}
	}
}
