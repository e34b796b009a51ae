package steps

import (
	"fmt"
	"slices"
	"time"

	"carrel/internal/inside"
	"carrel/internal/processes"
)

// Bounds of marks.
const (
	MarksPerSecond = 20
	maxLabel       = 200 // bytes
	maxMarks       = 64  // open at once; older ones are forgotten
)

// marks are what programs inside have said of one line: where steps begin and end. They
// are held by the lock of their line.
type marks struct {
	open  []string  // that have not been ended, by their callers' names
	since uint64    // when the first of them was made, in ticks
	from  time.Time // of the allowance
	used  int       // of it
}

// markLine is a program's word inside that a step begins or ends here. It is only
// that: nothing is widened by it, nothing is lost. Calls that run side by side
// are one step, which ends with the last of them.
func (l *line) markLine(begin bool, caller int, m inside.Mark) error {
	label := m.Label[:min(len(m.Label), maxLabel)]
	l.mu.Lock()
	if !l.marks.allowed(time.Now()) {
		l.mu.Unlock()
		return fmt.Errorf("more than %d marks in a second", MarksPerSecond)
	}
	others := len(l.marks.open) > 0
	var out *outlived
	if begin {
		l.marks.begun(m)
	} else {
		if others && caller > 0 { // of a machine's processes none is known here
			out = &outlived{since: l.marks.since, marker: caller}
		}
		l.marks.ended(m)
		others = len(l.marks.open) > 0
	}
	l.mu.Unlock()
	if others {
		return nil
	}
	return l.next(out, func() {
		if l.label = ""; begin {
			l.label = label
		}
	})
}

func (o *marks) begun(m inside.Mark) {
	if len(o.open) == 0 {
		o.since = processes.TicksNow()
	}
	o.open = append(o.open, m.ID[:min(len(m.ID), maxLabel)])
	o.open = o.open[max(0, len(o.open)-maxMarks):]
}

// ended takes one mark off. An end that fits none is one of the last.
func (o *marks) ended(m inside.Mark) {
	if m.All || len(o.open) == 0 {
		o.open = nil
		return
	}
	i := slices.Index(o.open, m.ID)
	if i < 0 {
		i = len(o.open) - 1
	}
	o.open = slices.Delete(o.open, i, i+1)
}

// allowed counts one more, and says whether that is not too many in a second.
func (o *marks) allowed(now time.Time) bool {
	if now.Sub(o.from) >= time.Second {
		o.from, o.used = now, 0
	}
	o.used++
	return o.used <= MarksPerSecond
}
