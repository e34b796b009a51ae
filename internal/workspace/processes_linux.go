package workspace

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"carrel/internal/procfs"

	"golang.org/x/sys/unix"
)

// process is what is used of /proc/PID/stat. Its number and the time when it was
// started mean one process and no later one.
type process struct {
	pid, parent, group, session int
	front                       int    // the foreground process group of its terminal, -1 for none
	start                       uint64 // ticks since the machine was started
	gone                        bool   // it runs no more, whether collected or not
}

// ticksPerSecond is USER_HZ, the same on every Linux that Go runs on.
const ticksPerSecond = 100

// ticksNow is the present in the unit of process.start.
func ticksNow() uint64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return uint64(now.Nano() / (int64(time.Second) / ticksPerSecond))
}

// processes are those below one, by their numbers.
type processes map[int]process

// census lists the stage and what runs below it; the stage is missing where it
// cannot be seen. What has lost its parent is the stage's, in name spaces of its
// own as well.
func census(stage int) processes {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := dir.Readdirnames(-1)
	dir.Close()
	all, below := make(processes, len(names)), make(processes)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readProcess(pid); ok {
				all[pid] = p
			}
		}
	}
	for pid, p := range all {
		if _, known := all[p.parent]; !known && pid != stage {
			if p, known = readProcess(pid); known { // it has lost that meanwhile
				all[pid] = p
			}
		}
	}
	for pid := range all {
		if all.descends(pid, stage) {
			below[pid] = all[pid]
		}
	}
	return below
}

// maxGenerations bounds how far parents are followed.
const maxGenerations = 1000

func (all processes) descends(pid, from int) bool {
	for range maxGenerations {
		p, ok := all[pid]
		if pid == from || !ok {
			return ok
		}
		pid = p.parent
	}
	return false
}

// depth is how many generations a process is below another, for sorting.
func (all processes) depth(pid, from int) (n int) {
	for ; n < maxGenerations && pid != from && pid != 0; n++ {
		pid = all[pid].parent
	}
	return n
}

// elders are the processes with parents first.
func (all processes) elders(stage int) []process {
	type one struct {
		process
		depth int
	}
	var list []one
	for pid, p := range all {
		list = append(list, one{p, all.depth(pid, stage)})
	}
	slices.SortFunc(list, func(a, b one) int {
		return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.start, b.start), cmp.Compare(a.pid, b.pid))
	})
	out := make([]process, len(list))
	for i := range list {
		out[i] = list[i].process
	}
	return out
}

// line gives the numbers of a process and its ancestors, below another.
func (all processes) line(pid, from int) map[int]bool {
	out := make(map[int]bool)
	for pid != from && len(out) < maxGenerations {
		p, ok := all[pid]
		if !ok {
			break
		}
		out[pid] = true
		pid = p.parent
	}
	return out
}

// command is the run's own: the first that the stage has started.
func (all processes) command(stage int) (first process) {
	for _, p := range all {
		if p.parent == stage && (first.pid == 0 || cmp.Or(cmp.Compare(p.start, first.start), cmp.Compare(p.pid, first.pid)) < 0) {
			first = p
		}
	}
	return first
}

// young is how old a process may be and still count as part of a step.
const young = 5 * time.Minute

// isTool says whether a process is young and at least two generations below the
// stage: the command itself is not.
func (p process) isTool(stage int) bool {
	return !p.gone && p.parent != stage && p.pid != stage && p.start+uint64(young.Seconds()*ticksPerSecond) > ticksNow()
}

// readProcess reads what there is of a process or thread.
func readProcess(pid int) (process, bool) {
	s, err := procfs.ReadStat(pid)
	return processFrom(pid, &s), err == nil
}

// processFrom is what is used of a line of /proc/PID/stat.
func processFrom(pid int, s *procfs.Stat) process {
	if s.State == 0 {
		return process{}
	}
	return process{pid: pid, parent: s.Parent, group: s.Group, session: s.Session, front: s.Front, start: s.Start, gone: s.Gone() && s.Threads <= 1}
}

// processOf gives the process of a thread.
func processOf(tid int) int {
	text, err := readHead("/proc/"+strconv.Itoa(tid)+"/status", 1024)
	if err == nil {
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "Tgid:"); ok {
				if pid, err := strconv.Atoi(strings.TrimSpace(rest)); err == nil {
					return pid
				}
			}
		}
	}
	return tid
}

// argvOf reads the command line of a process, as it says itself, up to a bound.
func argvOf(pid int) []string {
	text, err := readHead("/proc/"+strconv.Itoa(pid)+"/cmdline", maxJobArgv)
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
}

// maxJobArgv bounds what is kept of the command line of a job, in bytes.
const maxJobArgv = 4096
