package store

import (
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// renumbered gives the numbers that have changed since a step began, nil for none.
func renumbered(b *journal.Begin) map[uint64]uint64 {
	var out map[uint64]uint64
	for i, was := range b.Devices {
		var st unix.Stat_t
		if was == 0 || i >= len(b.Roots) || unix.Lstat(string(b.Roots[i]), &st) != nil || st.Dev == was {
			continue
		}
		if out == nil {
			out = make(map[uint64]uint64)
		}
		out[was] = st.Dev
	}
	return out
}
