// Package processes finds and ends what runs inside one workspace, seen from outside
// through /proc. All of it is below the stage, the first process of the workspace;
// what belongs to one app or one host command carries a label (see package sandbox).
// A process is its number together with its time of start, because numbers are used
// again. A list that could not be complete is told with an error. The package decides
// nothing about files or steps.
package processes

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"carrel/internal/hostfile"
	"carrel/internal/procfs"

	"golang.org/x/sys/unix"
)

// Process is one process, as /proc/PID/stat shows it. Its number and its time of start
// together mean no later process.
type Process struct {
	PID, Parent, Group, Session int
	Front                       int    // the foreground process group of its terminal, -1 for none
	Start                       uint64 // ticks since the machine was started
	Gone                        bool   // it runs no more, whether collected or not
}

// ticksPerSecond is USER_HZ, the same on every Linux that Go runs on.
const ticksPerSecond = 100

// TicksNow is the present in the unit of process.start.
func TicksNow() uint64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return uint64(now.Nano() / (int64(time.Second) / ticksPerSecond))
}

// Tree are those below one, by their numbers.
type Tree map[int]Process

// Below lists the stage and what runs below it; the stage is missing where it
// cannot be seen. What has lost its parent is the stage's, in name spaces of its
// own as well.
func Below(stage int) Tree {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := dir.Readdirnames(-1)
	dir.Close()
	all, below := make(Tree, len(names)), make(Tree)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := Read(pid); ok {
				all[pid] = p
			}
		}
	}
	for pid, p := range all {
		if _, known := all[p.Parent]; !known && pid != stage {
			if p, known = Read(pid); known { // it has lost that meanwhile
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

// MaxGenerations bounds how far parents are followed.
const MaxGenerations = 1000

func (all Tree) descends(pid, from int) bool {
	for range MaxGenerations {
		p, ok := all[pid]
		if pid == from || !ok {
			return ok
		}
		pid = p.Parent
	}
	return false
}

// depth is how many generations a process is below another, for sorting.
func (all Tree) depth(pid, from int) (n int) {
	for ; n < MaxGenerations && pid != from && pid != 0; n++ {
		pid = all[pid].Parent
	}
	return n
}

// Elders are the processes with parents first.
func (all Tree) Elders(stage int) []Process {
	type one struct {
		Process
		depth int
	}
	var list []one
	for pid, p := range all {
		list = append(list, one{p, all.depth(pid, stage)})
	}
	slices.SortFunc(list, func(a, b one) int {
		return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID))
	})
	out := make([]Process, len(list))
	for i := range list {
		out[i] = list[i].Process
	}
	return out
}

// Line gives the numbers of a process and its ancestors, below another.
func (all Tree) Line(pid, from int) map[int]bool {
	out := make(map[int]bool)
	for pid != from && len(out) < MaxGenerations {
		p, ok := all[pid]
		if !ok {
			break
		}
		out[pid] = true
		pid = p.Parent
	}
	return out
}

// Command is the run's own: the first that the stage has started.
func (all Tree) Command(stage int) (first Process) {
	for _, p := range all {
		if p.Parent == stage && (first.PID == 0 || cmp.Or(cmp.Compare(p.Start, first.Start), cmp.Compare(p.PID, first.PID)) < 0) {
			first = p
		}
	}
	return first
}

// young is how old a process may be and still count as part of a step.
const young = 5 * time.Minute

// IsTool says whether a process is young and at least two generations below the
// stage: the command itself is not.
func (p Process) IsTool(stage int) bool {
	return !p.Gone && p.Parent != stage && p.PID != stage && p.Start+uint64(young.Seconds()*ticksPerSecond) > TicksNow()
}

// Read reads what there is of a process or thread.
func Read(pid int) (Process, bool) {
	s, err := procfs.ReadStat(pid)
	return processFrom(pid, &s), err == nil
}

// processFrom is what is used of a line of /proc/PID/stat.
func processFrom(pid int, s *procfs.Stat) Process {
	if s.State == 0 {
		return Process{}
	}
	return Process{PID: pid, Parent: s.Parent, Group: s.Group, Session: s.Session, Front: s.Front, Start: s.Start, Gone: s.Gone() && s.Threads <= 1}
}

// OfThread gives the process of a thread.
func OfThread(tid int) int {
	text, err := hostfile.ReadHead("/proc/"+strconv.Itoa(tid)+"/status", 1024)
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

// Argv reads the command line of a process, as it says itself, up to a bound.
func Argv(pid int) []string {
	text, err := hostfile.ReadHead("/proc/"+strconv.Itoa(pid)+"/cmdline", maxJobArgv)
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
}

// maxJobArgv bounds what is kept of the command line of a job, in bytes.
const maxJobArgv = 4096

// Look gives a process of the tree by its number.
func (all Tree) Look(pid int) (Process, bool) {
	p, ok := all[pid]
	return p, ok
}
