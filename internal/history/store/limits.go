package store

import (
	"slices"

	"carrel/internal/history/steplog"
)

// Limits bound what a store keeps, and what is copied to be kept. 0 is no limit.
type Limits struct {
	Bytes     int64 // of the disk, by the whole store
	Steps     int64
	StepBytes int64 // copied by one step
	FileBytes int64 // copied of one file
}

// Size is what a store keeps: bytes of the disk, and of how many steps.
type Size struct{ Bytes, Steps int64 }

// Over says whether it is beyond the limits of the store.
func (s Size) Over(l Limits) bool {
	return l.Bytes > 0 && s.Bytes > l.Bytes || l.Steps > 0 && s.Steps > l.Steps
}

// DefaultLimits hold where the configuration sets no others.
func DefaultLimits() Limits {
	return Limits{Bytes: 2 << 30, Steps: 1000, StepBytes: 2 << 30, FileBytes: 1 << 30}
}

// batch is the part of a limit that is freed at once. To find what can go, the index and
// all names in a store are read: a store at its limit must not pay that at each step.
const batch = 8

// LowWater is what is left of something that exceeded a limit.
func LowWater(limit int64) int64 { return limit - limit/batch }

// weight is what a family comes to in the budget.
type weight struct {
	family *steplog.Family
	run    string
	bytes  int64 // of the disk, that are free without it
	fixed  bool  // it stays: it is the newest, or not over
	empty  bool  // it changed nothing
	gone   bool  // it goes for another limit
}

// overLimit is victims where the families together exceed a limit; 0 is no limit.
// What stays is the low-water mark of the limit, so that this is rare.
func overLimit(list []weight, limit, more int64, size func(*weight) int64) (out []*weight, total int64) {
	total = more
	for i := range list {
		total += size(&list[i])
	}
	if limit <= 0 || total <= limit {
		return nil, total
	}
	return victims(list, LowWater(limit), more, size)
}

// victims says which families, of a list oldest first, have to go so that those
// that stay keep no more than a limit, and how much is kept then. size says what
// one comes to, more what is kept beside them.
//
// Those that changed nothing go first, then the oldest. But a run with more than
// half of the limit loses its own steps before others lose theirs, and as long as
// the newest step alone has more than half, the others together keep half: no
// flood takes away what others did.
func victims(list []weight, limit, more int64, size func(*weight) int64) (out []*weight, total int64) {
	var rest []*weight
	var fixed int64
	runs := make(map[string]int64)
	total = more
	for i := range list {
		w := &list[i]
		total += size(w)
		runs[w.run] += size(w)
		if w.fixed {
			fixed += size(w)
		} else if size(w) > 0 {
			rest = append(rest, w)
		}
	}
	slices.SortStableFunc(rest, func(a, b *weight) int { return b.emptiness() - a.emptiness() })
	for len(rest) > 0 && total > limit {
		i := slices.IndexFunc(rest, func(w *weight) bool { return runs[w.run] > limit/2 })
		if i < 0 {
			if fixed > limit/2 && total-fixed <= limit/2 {
				break
			}
			i = 0
		}
		w := rest[i]
		rest = slices.Delete(rest, i, i+1)
		total -= size(w)
		runs[w.run] -= size(w)
		out = append(out, w)
	}
	return out, total
}

func (w *weight) emptiness() int {
	if w.empty {
		return 1
	}
	return 0
}
