package workspace

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// youngInside gives a question: does anything run inside that was started in the
// last minutes, but for the command itself? stage is the workspace's first
// process, seen from outside. Where nothing can be seen the answer is no.
func youngInside(stage int) func() bool {
	return func() bool {
		var own unix.Stat_t
		if unix.Stat("/proc/"+strconv.Itoa(stage)+"/ns/pid", &own) != nil {
			return false
		}
		dir, err := os.Open("/proc")
		if err != nil {
			return false
		}
		defer dir.Close()
		names, _ := dir.Readdirnames(-1)
		for _, name := range names {
			if name[0] < '1' || name[0] > '9' {
				continue
			}
			var ns unix.Stat_t
			if unix.Stat("/proc/"+name+"/ns/pid", &ns) == nil && ns.Ino == own.Ino && isTool(name) {
				return true
			}
		}
		return false
	}
}

// young is how old a process may be and still count as part of a step.
const young = 5 * time.Minute

// isTool says whether a process is young and at least two generations below the
// stage: the command itself and the stage are not.
func isTool(pid string) bool {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	words := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(words) < 20 || words[0] == "Z" {
		return false
	}
	parent, started := words[1], words[19]
	ticks, err := strconv.ParseInt(started, 10, 64)
	var now unix.Timespec
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return false
	}
	const perSecond = 100 // USER_HZ, the same on every Linux that Go runs on
	age := time.Duration(now.Nano()) - time.Duration(ticks)*time.Second/perSecond
	status, err := os.ReadFile("/proc/" + parent + "/status")
	if err != nil || age > young {
		return false
	}
	for line := range strings.Lines(string(status)) {
		if ids, ok := strings.CutPrefix(line, "NSpid:"); ok {
			inner := strings.Fields(ids)
			return len(inner) > 1 && inner[len(inner)-1] != "1" // its parent is not the stage
		}
	}
	return false
}
