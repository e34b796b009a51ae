package screen

import "slices"

// scrollback has the lines that left the main grid at its top, max of them at most.
type scrollback struct {
	lines  []string
	oldest int // its place in lines once they are max
	max    int
}

// keep adds a line, and drops the oldest one where there is no room.
func (b *scrollback) keep(l line) {
	switch {
	case b.max == 0:
	case len(b.lines) < b.max:
		b.lines = append(b.lines, l.text())
	default:
		b.lines[b.oldest] = l.text()
		b.oldest = (b.oldest + 1) % b.max
	}
}

func (b *scrollback) clear() { b.lines, b.oldest = nil, 0 }

// all returns the lines, the oldest first.
func (b *scrollback) all() []string {
	return append(slices.Clone(b.lines[b.oldest:]), b.lines[:b.oldest]...)
}
