package sandbox

import (
	"bytes"
	"errors"
	"strconv"
	"sync"

	"carrel/internal/ancestry"

	"golang.org/x/sys/unix"
)

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

// Whatever has had a label has the hard limit [ancestry.InsideLimit], above all of them:
// what has taken its label away is known still.

// labelLimit is the limit that labels are. The kernel of gVisor lets that of real time not be set, and
// there it is one that no kernel holds a process to.
var labelLimit = sync.OnceValue(func() int {
	var limit unix.Rlimit
	err := unix.Prlimit(0, unix.RLIMIT_RTTIME, nil, &limit)
	if err == nil && unix.Prlimit(0, unix.RLIMIT_RTTIME, &limit, nil) == unix.EPERM {
		return unix.RLIMIT_RSS
	}
	return unix.RLIMIT_RTTIME
})

// SetLabel gives the calling process a label, which its children inherit; 0 takes it
// away. It says whether it could: not where the limit is lowered already.
func SetLabel(label uint64) bool {
	var limit unix.Rlimit
	if unix.Prlimit(0, labelLimit(), nil, &limit) != nil {
		return false
	}
	limit.Max = min(limit.Max, ancestry.InsideLimit)
	limit.Cur = limit.Max
	if label != 0 {
		limit.Cur = labelBase + label
	}
	return limit.Cur <= limit.Max && unix.Prlimit(0, labelLimit(), &limit, nil) == nil
}

// PrepareLabels has the calling process be as one that has had a label, and says whether
// it can give labels: not where the user's limit is lowered. It keeps a label that it has,
// as in a workspace that is inside another one.
func PrepareLabels() bool {
	own := LabelOf(0)
	return SetLabel(maxLabel-1) && SetLabel(own)
}

// LabelOf gives the label of a process or thread, 0 where it has none or cannot be
// seen.
func LabelOf(pid int) uint64 {
	label, _, _ := LookLabel(pid)
	return label
}

// LookLabel gives the label of a process or thread, 0 for none, and whether it may be
// one that has had a label: what was not given one by [SetLabel], nor inherited it,
// seldom is. The error is ESRCH where there is no such process any more.
func LookLabel(pid int) (label uint64, had bool, err error) {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, labelLimit(), nil, &limit); err != nil {
		return 0, false, err
	}
	return labelIn(limit.Cur), limit.Max <= ancestry.InsideLimit, nil
}

// labelIn gives the label that a soft limit means, 0 for none.
func labelIn(limit uint64) uint64 {
	if limit > labelBase && limit < labelBase+maxLabel {
		return limit - labelBase
	}
	return 0
}

// ParseLabel reads the label out of the text of /proc/PID/limits, 0 for none.
func ParseLabel(limits []byte) (uint64, error) {
	_, rest, found := bytes.Cut(limits, []byte("\nMax realtime timeout "))
	words := bytes.Fields(rest)
	if !found || len(words) == 0 {
		return 0, errNoLimit
	}
	if string(words[0]) == "unlimited" {
		return 0, nil
	}
	limit, err := strconv.ParseUint(string(words[0]), 10, 64)
	return labelIn(limit), err
}

var errNoLimit = errors.New("a list of limits without that of real time")
