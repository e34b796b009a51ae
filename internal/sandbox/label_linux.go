package sandbox

import "golang.org/x/sys/unix"

// A label says which command of a workspace a process was started by. Parents are
// forgotten when they end, and a session, a process group or the environment is the
// program's to change. A resource limit is inherited by everything, whatever it does
// to be alone, and this one (how many microseconds a real-time program may compute
// without a pause) nobody changes but a few sound servers, for a small number.
// A label decides nothing: it says whose step of the history a change belongs to and
// what `carrel kill` ends, and a program that takes another's only misleads about itself.

// labelBase is above every limit that means something: more than thirty years.
const labelBase = 1 << 50

// maxLabel bounds labels.
const maxLabel = 1 << 32

// SetLabel gives the calling process a label, which its children inherit; 0 takes it
// away. It says whether it could: not where the limit is lowered already.
func SetLabel(label uint64) bool {
	var limit unix.Rlimit
	if unix.Prlimit(0, unix.RLIMIT_RTTIME, nil, &limit) != nil {
		return false
	}
	limit.Cur = limit.Max
	if label != 0 {
		limit.Cur = labelBase + label
	}
	return limit.Cur <= limit.Max && unix.Prlimit(0, unix.RLIMIT_RTTIME, &limit, nil) == nil
}

// LabelOf gives the label of a process or thread, 0 where it has none or cannot be
// seen.
func LabelOf(pid int) uint64 {
	var limit unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit) != nil || limit.Cur <= labelBase || limit.Cur >= labelBase+maxLabel {
		return 0
	}
	return limit.Cur - labelBase
}
