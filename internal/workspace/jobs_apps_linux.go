package workspace

import (
	"errors"
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
// for none.
func labelled(stage int, label uint64) (found []process) {
	eachInside(stage, func(pid int, l uint64) {
		if p, ok := readProcess(pid); ok && !p.gone && (label == 0 || l == label) && len(found) < maxLabelled {
			found = append(found, p)
		}
	})
	return found
}

// maxLooks bounds how often all processes are gone through for one answer.
const maxLooks = 64

// eachInside goes through the processes below the stage that have, or have had, a label.
// It looks at all of the machine, in the order of their numbers, until a look finds
// nobody else: whoever loses its parent meanwhile is not missed, as it would be from
// parents to children, and who has gone between the list and the look at it may have
// started another. A system call says of most that they are none of these.
func eachInside(stage int, do func(pid int, label uint64)) {
	dir, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(dir)
	below, seen := map[int]bool{stage: true}, map[int]bool{stage: true}
	for range maxLooks {
		again := false
		eachNumber(dir, func(pid int) {
			if seen[pid] {
				return
			}
			label, had, err := sandbox.LookLabel(pid)
			if !had {
				again = again || err == unix.ESRCH
				return
			}
			ours, known := descends(pid, below)
			again = again || ours || !known
			if ours {
				seen[pid] = true
				do(pid, label)
			}
		})
		if _, err := unix.Seek(dir, 0, unix.SEEK_SET); err != nil || !again {
			return
		}
	}
}

// eachNumber goes through the names of an open directory that are numbers.
func eachNumber(dir int, do func(n int)) {
	var buf [32 << 10]byte
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

// descends says whether a process is below those that are known to be, and adds it; and
// whether that is known: not of one that has gone. A label of another workspace may be
// the same number.
func descends(pid int, below map[int]bool) (ours, known bool) {
	for range 10 { // an ancestor that ends meanwhile leads to another one, or to none for a moment
		var line []int
		at := pid
		for at > 1 && !below[at] && len(line) < maxGenerations {
			p, ok := readProcess(at)
			if !ok {
				at = 0
				break
			}
			line = append(line, at)
			at = p.parent
		}
		if below[at] {
			for _, p := range line {
				below[p] = true
			}
			return true, true
		}
		if at != 0 { // it is the machine's
			return false, true
		}
		if len(line) == 0 {
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
		c.at, c.count = time.Now(), make(map[uint64]int)
		eachInside(stage, func(pid int, label uint64) {
			if p, ok := readProcess(pid); ok && !p.gone && label != 0 {
				c.count[label]++
			}
		})
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
