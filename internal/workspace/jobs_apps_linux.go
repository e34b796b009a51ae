package workspace

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"carrel/internal/history"
	"carrel/internal/inside"
	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// The apps of a workspace that stays are jobs from their first moment: what each
// starts has its label (see package sandbox), and its changes are steps of its own.

// app makes a job of what is about to be started with a label. whole: all of it is one
// step. It may be called on nil.
func (j *jobs) app(id string, label uint64, argv []string, name string, whole bool) *job {
	if j == nil {
		return nil
	}
	run := j.run
	one := &job{argv: argv, label: label, whole: whole}
	kind := history.StepJob
	if whole {
		kind = history.StepRun
	}
	one.line = j.newLine(history.Begin{Kind: kind, Run: run.run.Run, Command: history.Argv(argv), Open: run.run.Open})
	one.line.app = id
	one.line.label = name[:min(len(name), maxLabel)]
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.apps == nil {
		j.apps = make(map[uint64]*job)
	}
	j.apps[label] = one
	j.list = append(j.list, one)
	if j.epoch.Add(1) == 1 {
		run.done.Go(j.watch)
	}
	return one
}

// newLine makes the keeper of a job.
func (j *jobs) newLine(begin history.Begin) *keeper {
	run := j.run
	return &keeper{dir: run.dir, audited: run.audited, noted: run.noted, ignored: run.ignored, granted: run.granted, roots: run.roots, limits: run.limits, kin: j, making: run.making, past: run.past, guard: run.guard, bounds: run.bounds, terms: run.terms, run: begin}
}

// end ends the job of an app of which nobody is left, and gives its steps. Who asks
// for its keeper from now on gets the run's.
func (j *jobs) end(one *job, exit int) ([]uint64, error) {
	if one == nil {
		return nil, nil
	}
	j.mu.Lock()
	_, there := j.apps[one.label]
	delete(j.apps, one.label)
	for i := range j.list {
		if j.list[i] == one {
			j.list = append(j.list[:i:i], j.list[i+1:]...)
			break
		}
	}
	j.forget(func(_ int, c caller) bool { return c.job == one })
	j.mu.Unlock()
	if !there {
		return nil, nil
	}
	return j.finish(one, exit)
}

// steps are the numbers of what a job has written so far.
func (one *job) steps() []uint64 {
	if one == nil {
		return nil
	}
	one.line.mu.Lock()
	defer one.line.mu.Unlock()
	return append([]uint64(nil), one.line.all...)
}

// lineOf gives the keeper that a process inside writes to.
func (j *jobs) lineOf(pid int) *keeper {
	if j.epoch.Load() == 0 || pid <= 0 {
		return j.run
	}
	return j.keeperOf(pid)
}

// markFor begins or ends a step of whoever says so.
func (k *keeper) markFor(begin bool, caller int, m inside.Mark) error {
	if k == nil {
		return errors.New("this run keeps no history")
	}
	return k.jobs.lineOf(caller).mark(begin, caller, m)
}

// labelled lists the processes below the stage that have a label; 0 stands for any and
// for none. It is for whoever looks again, or asks only: none are found, too, while
// processes cannot be looked at.
func labelled(stage int, label uint64) []process {
	found, _ := findLabelled(stage, label)
	return found
}

// findLabelled is labelled for whoever takes an empty list for the end.
func findLabelled(stage int, label uint64) (found []process, err error) {
	err = eachInside(stage, func(p process, l uint64) {
		if !p.gone && (label == 0 || l == label) && len(found) < maxLabelled {
			found = append(found, p)
		}
	})
	return found, err
}

// Bounds of how often all processes are gone through for one answer: so often, and once
// the few are done, no more after that time.
const (
	maxLooks = 64
	fewLooks = 4
	lookTime = 100 * time.Millisecond
)

// eachInside goes through the processes below the stage that have, or have had, a label.
// It looks at all of the machine, in the order of their numbers, until a look finds
// no other: what loses its parent meanwhile is not missed, as it would be from parents
// to children, and what has gone between the list and the look at it may have started
// another. A system call says of most that they are none of these. The error says that
// one may have been missed: for want of descriptors, or as no look was the last.
func eachInside(stage int, do func(p process, label uint64)) error {
	dir, err := openProc()
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	line, seen := lineage{below: map[int]bool{stage: true}, others: map[int]bool{}}, map[int]bool{stage: true}
	begun := time.Now()
	for look := range maxLooks {
		if look >= fewLooks && time.Since(begun) > lookTime {
			break
		}
		again, before := false, newestProcess(dir)
		eachNumber(dir, func(pid int) {
			if seen[pid] {
				return
			}
			label, had, err := sandbox.LookLabel(pid)
			if !had {
				again = again || err == unix.ESRCH
				return
			}
			ours, known := line.has(pid)
			again = again || ours || !known
			if !ours {
				return
			}
			if p, ok := readProcess(pid); ok {
				seen[pid] = true
				do(p, label)
			}
		})
		// Numbers that begin anew may have led one past the look.
		again = again || newestProcess(dir) < before
		if _, err := unix.Seek(dir, 0, unix.SEEK_SET); err != nil || !again {
			return err
		}
	}
	return cmp.Or(legible(), errRestless)
}

// errRestless says that each look found another process, or one that had just gone.
var errRestless = errors.New("processes come and go faster than they can be looked at")

// newestProcess gives the number of the process or thread that was made last, 0 where
// that is not known; dir is /proc.
func newestProcess(dir int) int {
	fd, err := unix.Openat(dir, "loadavg", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	var buf [128]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil {
		return 0
	}
	line := bytes.TrimSpace(buf[:n])
	newest, _ := strconv.Atoi(string(line[bytes.LastIndexByte(line, ' ')+1:]))
	return newest
}

// openProc opens the list of all processes. Descriptors may be short for a moment.
func openProc() (dir int, err error) {
	for range 100 {
		if dir, err = unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
			return dir, nil
		}
		time.Sleep(time.Millisecond)
	}
	return -1, fmt.Errorf("listing processes: %w", err)
}

// legible says whether processes can be looked at: one that cannot has gone, if this
// process can.
func legible() error {
	if _, ok := readProcess(os.Getpid()); !ok {
		return errors.New("processes cannot be looked at")
	}
	return nil
}

// eachNumber goes through the names of an open directory that are numbers. It reads few
// at a time: what is listed is looked at soon.
func eachNumber(dir int, do func(n int)) {
	var buf [1 << 10]byte
	var names []string
	for {
		n, err := unix.ReadDirent(dir, buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names[:0])
		for _, name := range names {
			if n, err := strconv.Atoi(name); err == nil {
				do(n)
			}
		}
	}
}

// lineage is what is known of who descends from whom, during one answer.
type lineage struct {
	below  map[int]bool // the stage, and what is
	others map[int]bool // the machine's
}

// has says whether a process is below the stage; and whether that is known: not of one
// that has gone. A label of another workspace may be the same number.
func (l *lineage) has(pid int) (ours, known bool) {
	for range 10 { // an ancestor that ends meanwhile leads to another one, or to none for a moment
		var line []int
		at := pid
		for at > 1 && !l.below[at] && !l.others[at] && len(line) < maxGenerations {
			p, ok := readProcess(at)
			if !ok {
				at = 0
				break
			}
			line = append(line, at)
			at = p.parent
		}
		switch {
		case l.below[at]:
			for _, p := range line {
				l.below[p] = true
			}
			return true, true
		case at == 1 || l.others[at]:
			for _, p := range line {
				l.others[p] = true
			}
			return false, true
		case at != 0: // too far
			return false, false
		case len(line) == 0:
			return false, false
		}
	}
	return false, false
}

// headcount counts the processes of each label, for all who want to know at about one
// time: many apps may have left something behind, and each look goes through all.
type headcount struct {
	mu    sync.Mutex
	at    time.Time
	count map[uint64]int
}

// headcountAge is for how long a count is good. It is less than [lingerPeriod], so that
// one that says 0 was taken after the app had ended.
const headcountAge = lingerPeriod / 2

func (c *headcount) of(stage int, label uint64) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.at) > headcountAge {
		at, count := time.Now(), make(map[uint64]int)
		err := eachInside(stage, func(p process, label uint64) {
			if !p.gone && label != 0 {
				count[label]++
			}
		})
		if err == nil || c.count == nil {
			c.at, c.count = at, count
		}
	}
	return c.count[label]
}

// maxLabelled bounds how many processes are listed.
const maxLabelled = 1 << 16

// signalAll sends a signal to processes. Each is held, and looked at again: its number
// may be another's by now.
func signalAll(list []process, sig syscall.Signal) {
	for _, p := range list {
		fd, err := unix.PidfdOpen(p.pid, 0)
		if err != nil {
			continue
		}
		if now, ok := readProcess(p.pid); ok && now.start == p.start {
			_ = unix.PidfdSendSignal(fd, sig, nil, 0)
		}
		unix.Close(fd)
	}
}

// busyApp says whether an app runs a tool: something that was started in the last
// minutes and is not the app itself.
func (j *jobs) busyApp(one *job) bool {
	for _, p := range labelled(j.stage, one.label) {
		if p.isTool(j.stage) {
			return true
		}
	}
	return false
}
