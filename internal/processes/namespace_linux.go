package processes

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"strconv"
	"sync"
	"syscall"

	"carrel/internal/procfs"
	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// Namespace finds the processes of one workspace by the procfs of its PID namespace,
// which lists them and no others: whatever a process inside does to be alone, it has a
// number there. The numbers are not those of outside, so it only tells how many there
// are. Signals, and answers where it has none, take a look at all of the machine.
type Namespace struct {
	stage int
	mu    sync.Mutex
	list  *os.File // nil for none
}

// NewNamespace takes a stage's procfs over, nil for none. One that is not the stage's own
// is closed and not used: process 1 there is the stage.
func NewNamespace(stage int, list *os.File) *Namespace {
	n := &Namespace{stage: stage, list: list}
	if list != nil && !n.isStages() {
		n.Close()
	}
	return n
}

// Close lets go of the procfs.
func (n *Namespace) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.list != nil {
		n.list.Close()
		n.list = nil
	}
}

func (n *Namespace) isStages() bool {
	dir := int(n.list.Fd())
	var fs unix.Statfs_t
	if unix.Fstatfs(dir, &fs) != nil || fs.Type != unix.PROC_SUPER_MAGIC {
		return false
	}
	own, ok := Read(n.stage)
	if !ok {
		return false
	}
	var buf [4 << 10]byte
	text, err := readIn(dir, "1/stat", buf[:])
	if err != nil {
		return false
	}
	first, err := procfs.ParseStat(text)
	return err == nil && first.Start == own.Start
}

// Counts gives how many processes each label has, and whether that is known: not where
// there is no procfs, where more is inside than is worth to be read, or where processes
// come and go all the time.
func (n *Namespace) Counts() (count map[uint64]int, known bool) {
	count, _, known = n.look()
	return count, known
}

// Members are the processes of one workspace, by their labels; 0 stands for any and for none.
type Members interface {
	All() (map[uint64]int, error)                   // how many processes each label has
	Count(label uint64) int                         // for callers that ask again
	Left(label uint64) (int, error)                 // for those to which 0 means the end
	Signal(label uint64, signals ...syscall.Signal) // in this order, to each that is there now
	Kill(label uint64) error                        // returns when nothing is left
}

// Count implements [Members]. Where the procfs cannot tell, all of the machine are looked at.
func (n *Namespace) Count(label uint64) int {
	if count, known := n.Counts(); known && label != 0 {
		return count[label]
	}
	return len(Labelled(n.stage, label))
}

// All implements [Members].
func (n *Namespace) All() (map[uint64]int, error) {
	if count, known := n.Counts(); known {
		return count, nil
	}
	count := make(map[uint64]int)
	err := eachInside(n.stage, func(p Process, label uint64) {
		if !p.Gone && label != 0 {
			count[label]++
		}
	})
	return count, err
}

// Left implements [Members].
func (n *Namespace) Left(label uint64) (int, error) {
	found, err := FindLabelled(n.stage, label)
	return len(found), err
}

// Signal implements [Members]. Processes that cannot be looked at get none.
func (n *Namespace) Signal(label uint64, signals ...syscall.Signal) {
	found := Labelled(n.stage, label)
	for _, sig := range signals {
		Signal(found, sig)
	}
}

// Kill implements [Members].
func (n *Namespace) Kill(label uint64) error { return KillLabel(n.stage, label) }

// Bounds of a look. To read the limits of more costs more than to ask the kernel for those
// of all processes of the machine.
const (
	maxInside   = 200
	insideLooks = 16
)

// look counts, and gives the number of processes that it has looked at. It knows the count
// where two looks in a row agree, and nothing in them has gone: a process that ends may
// have started another one with a number that was passed already.
func (n *Namespace) look() (count map[uint64]int, looked int, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.list == nil {
		return nil, 0, false
	}
	var before map[uint64]int
	for range insideLooks {
		now, some, err := lookOnce(int(n.list.Fd()))
		looked += some
		switch {
		case err == nil && before != nil && maps.Equal(before, now):
			return now, looked, true
		case err == nil || hasGone(err):
			before = now
		default:
			return nil, looked, false
		}
	}
	return nil, looked, false
}

// hasGone says whether an error means that a process has ended.
func hasGone(err error) bool { return err == unix.ENOENT || err == unix.ESRCH }

// errCrowded says that there are too many to be read one by one.
var errCrowded = errors.New("many processes")

// lookOnce goes through a procfs once. The count is nil where a process has gone meanwhile.
func lookOnce(list int) (count map[uint64]int, looked int, err error) {
	dir, err := unix.Openat(list, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, err
	}
	defer unix.Close(dir)
	count = make(map[uint64]int)
	first := false
	eachNumber(dir, func(pid int) {
		if pid == 1 {
			first = true
			return
		}
		if looked++; looked > maxInside {
			err = errCrowded
		}
		if err == nil || hasGone(err) {
			label, oneErr := labelledIn(dir, pid)
			if label != 0 {
				count[label]++
			}
			err = cmp.Or(oneErr, err)
		}
	})
	if !first { // the workspace has ended
		err = errCrowded
	}
	if err != nil {
		count = nil
	}
	return count, looked, err
}

// labelledIn gives the label of a process of a procfs, 0 for none and for one that runs no more.
func labelledIn(dir, pid int) (uint64, error) {
	var buf [4 << 10]byte
	name := strconv.Itoa(pid)
	text, err := readIn(dir, name+"/limits", buf[:])
	if err != nil {
		return 0, err
	}
	label, err := sandbox.ParseLabel(text)
	if err != nil || label == 0 {
		return 0, err
	}
	if text, err = readIn(dir, name+"/stat", buf[:]); err != nil {
		return 0, err
	}
	s, err := procfs.ParseStat(text)
	if err != nil || s.Gone() && s.Threads <= 1 {
		return 0, err
	}
	return label, nil
}

// readIn reads a short file of a procfs, whole. The kernel gives nothing of a process
// that is just going.
func readIn(dir int, name string, buf []byte) ([]byte, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, buf)
	if err == nil && n <= 0 {
		err = unix.ESRCH
	}
	return buf[:max(n, 0)], err
}
