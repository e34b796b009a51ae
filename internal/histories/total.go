package histories

import (
	"slices"
	"time"

	"carrel/internal/history"
)

// holding is what the history of one project takes.
type holding struct {
	id    string // of the project
	dir   string // of the history
	size  history.Size
	used  time.Time // last
	exact bool      // it was counted, and is not an estimate
}

// together is what histories take. More than each counts for none of them, 0 is no such
// bound: what a project takes beyond its own limit is its newest step, and one such step
// must not cost all other projects theirs.
func together(list []holding, each int64) (total int64) {
	for _, h := range list {
		if each > 0 {
			h.size.Bytes = min(h.size.Bytes, each)
		}
		total += h.size.Bytes
	}
	return total
}

// shrinkOldest has histories shrunk where together they take more than limit, those first
// that were not used for the longest time. shrink brings one down to some bytes, or as far
// as it may, and says what it takes then.
func shrinkOldest(list []holding, each, limit int64, shrink func(h holding, to int64) (left int64)) {
	total := together(list, each)
	if total <= limit {
		return
	}
	excess := total - history.LowWater(limit)
	slices.SortStableFunc(list, func(a, b holding) int { return a.used.Compare(b.used) })
	for i := range list {
		h := &list[i]
		if excess <= 0 {
			return
		}
		left := shrink(*h, max(0, h.size.Bytes-excess))
		excess -= h.size.Bytes - left
		h.size.Bytes = left
	}
}
