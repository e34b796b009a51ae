package processes

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

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// Labelled lists the processes below the stage that have a label; 0 stands for any and
// for none. It is for callers that look again, or only ask: none are found, too, while
// processes cannot be looked at.
func Labelled(stage int, label uint64) []Process {
	found, _ := FindLabelled(stage, label)
	return found
}

// FindLabelled is [Labelled] for callers to which an empty list means the end.
func FindLabelled(stage int, label uint64) (found []Process, err error) {
	err = eachInside(stage, func(p Process, l uint64) {
		if !p.Gone && (label == 0 || l == label) && len(found) < maxLabelled {
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
func eachInside(stage int, do func(p Process, label uint64)) error {
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
			if p, ok := Read(pid); ok {
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
	if _, ok := Read(os.Getpid()); !ok {
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
		for at > 1 && !l.below[at] && !l.others[at] && len(line) < MaxGenerations {
			p, ok := Read(at)
			if !ok {
				at = 0
				break
			}
			line = append(line, at)
			at = p.Parent
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

// Counts counts the processes of each label, for all who want to know at about one
// time: many apps may have left something behind, and each look goes through all.
type Counts struct {
	mu    sync.Mutex
	at    time.Time
	count map[uint64]int
}

// CountAge is for how long a count is good. What waits twice as long after an app's
// end, and then sees 0, has an answer that was taken after that end.
const CountAge = 250 * time.Millisecond

// Of gives the number of processes of a workspace that have a label.
func (c *Counts) Of(n Members, label uint64) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.at) > CountAge {
		at := time.Now()
		count, err := n.All()
		if err == nil || c.count == nil {
			c.at, c.count = at, count
		}
	}
	return c.count[label]
}

// maxLabelled bounds how many processes are listed.
const maxLabelled = 1 << 16

// Signal sends a signal to processes. Each is held, and looked at again: its number
// may be another's by now.
func Signal(list []Process, sig syscall.Signal) {
	for _, p := range list {
		fd, err := unix.PidfdOpen(p.PID, 0)
		if err != nil && err != unix.ENOSYS {
			continue
		}
		if now, ok := Read(p.PID); ok && now.Start == p.Start {
			if err == unix.ENOSYS { // gVisor's kernel; only a number that was given anew at this moment is another's
				_ = unix.Kill(p.PID, sig)
				continue
			}
			_ = unix.PidfdSendSignal(fd, sig, nil, 0)
		}
		unix.Close(fd)
	}
}

// KillLabel ends all that has a label, and returns when nothing of it is left.
func KillLabel(stage int, label uint64) error {
	return killAll(func() ([]Process, error) { return FindLabelled(stage, label) })
}

// killAll ends what is found, until nothing is. Where that cannot be looked for it says so.
func killAll(find func() ([]Process, error)) error {
	var left []Process
	var err error
	for end := time.Now().Add(killTime); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if left, err = find(); len(left) == 0 {
			if err == nil {
				return nil
			}
			continue
		}
		// What starts others faster than they are found is stopped first.
		Signal(left, syscall.SIGSTOP)
		if more, _ := find(); len(more) > len(left) && len(left) < maxLabelled/2 {
			continue
		}
		all, _ := find()
		Signal(all, syscall.SIGKILL)
	}
	if err != nil {
		return fmt.Errorf("whether anything is left is not known: %w", err)
	}
	return fmt.Errorf("%d processes are left after %s", len(left), killTime)
}

// killTime is how long it is tried to end what starts itself anew.
const killTime = 10 * time.Second

// KillStrays ends the processes below a stage of which the label is not active, and
// returns when nothing of them is left.
func KillStrays(stage Process, active func(label uint64) bool) error {
	return killAll(func() ([]Process, error) { return strays(stage, active) })
}

// strays finds them. A stage that has gone has none: its number may be another's by now.
func strays(stage Process, active func(label uint64) bool) (found []Process, err error) {
	err = eachInside(stage.PID, func(p Process, label uint64) {
		if !p.Gone && !active(label) && len(found) < maxLabelled {
			found = append(found, p)
		}
	})
	now, ok := Read(stage.PID)
	if !ok {
		return nil, legible()
	}
	if now.Start != stage.Start {
		return nil, nil
	}
	return found, err
}
