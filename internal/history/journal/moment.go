package journal

import "time"

// earliest is the first second that ext4, XFS and tmpfs can all name (1901).
const earliest = -1 << 31

// Moment is the time of a number in a [State]: nanoseconds since 1970 in 64 bits, which
// end in 2262: a later time has wrapped around. No file system in use keeps one from
// before 1901, so such a number is of the 584 years after it.
func Moment(ns int64) time.Time {
	if ns >= earliest*int64(time.Second) {
		return time.Unix(0, ns)
	}
	late := uint64(ns)
	return time.Unix(int64(late/1e9), int64(late%1e9))
}
