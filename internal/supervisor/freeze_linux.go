package supervisor

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"carrel/internal/procfs"

	"golang.org/x/sys/unix"
)

// Bounds of a freeze without a control group.
const (
	freezeRounds = 200                    // looks for new processes before it is given up
	settleTime   = 500 * time.Millisecond // for all of them to have stopped
	holdInterval = 250 * time.Millisecond // between looks while frozen
)

// NewFreezer gives what freezes the workspace whose first process is stage, a
// child of ours that was not yet collected. groups are the directories of its
// control groups, if it has any.
func NewFreezer(stage int, groups []string) (Freezer, error) {
	if f := newGroupFreezer(groups); f != nil {
		return f, nil
	}
	f, err := newTreeFreezer(stage)
	if err != nil {
		return nil, err // and no Freezer that is a nil pointer
	}
	return f, nil
}

// treeFreezer stops processes one by one with SIGSTOP. The stage comes first
// and goes on last: it never sees its children stopped, so neither job control
// inside nor the supervisor's own takes the pause for a Ctrl-Z.
type treeFreezer struct {
	stage *member
	nsPID uint64 // inode of the workspace's pid namespace

	mu     sync.Mutex
	held   []*member // in the order in which they were stopped
	known  map[process]bool
	cancel chan struct{}
	done   chan struct{}
}

// process names one for as long as the machine runs.
type process struct {
	pid   int
	start uint64
}

type member struct {
	process
	fd int
}

func newTreeFreezer(stage int) (*treeFreezer, error) {
	s, err := procfs.ReadStat(stage)
	if err != nil {
		return nil, fmt.Errorf("looking at the stage: %w", err)
	}
	var ns unix.Stat_t
	if err := unix.Stat(procPath(stage, "ns/pid"), &ns); err != nil {
		return nil, fmt.Errorf("looking at the stage's namespace: %w", err)
	}
	var own unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &own); err != nil {
		return nil, fmt.Errorf("looking at our own namespace: %w", err)
	}
	if ns.Ino == own.Ino {
		return nil, errors.New("the workspace has no pid namespace of its own")
	}
	fd, err := unix.PidfdOpen(stage, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the stage's process: %w", err)
	}
	return &treeFreezer{stage: &member{process{stage, s.Start}, fd}, nsPID: ns.Ino}, nil
}

// Freeze stops all processes that are not stopped already, and keeps looking
// for ones that are continued or come in while it lasts.
func (f *treeFreezer) Freeze() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cancel != nil {
		return nil
	}
	f.known = make(map[process]bool)
	if err := f.stop(f.stage); err != nil {
		return fmt.Errorf("stopping the stage: %w", err)
	}
	f.stageStops()
	if err := f.stopAll(); err != nil {
		return errors.Join(err, f.release())
	}
	f.settle()
	f.cancel, f.done = make(chan struct{}), make(chan struct{})
	go f.keep(f.cancel, f.done)
	return nil
}

// stageStops waits, not for long, until all threads of the stage have stopped. One that
// only will stop can still see its children stopped: it waits for them, and looks once
// more when the signal wakes it.
func (f *treeFreezer) stageStops() {
	for end := time.Now().Add(settleTime); time.Now().Before(end); time.Sleep(100 * time.Microsecond) {
		if threadsStopped(f.stage.pid) {
			return
		}
	}
}

// threadsStopped says whether no thread of a process runs; none does of one that is gone.
func threadsStopped(pid int) bool {
	threads, err := os.ReadDir(procPath(pid, "task"))
	for _, t := range threads {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		if s, err := procfs.ReadStat(tid); err == nil && !s.Gone() && !stopped(&s) {
			return false
		}
	}
	return err == nil || errors.Is(err, os.ErrNotExist)
}

// Thaw lets go on what Freeze has stopped, and nothing else.
func (f *treeFreezer) Thaw() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cancel == nil {
		return nil
	}
	close(f.cancel)
	<-f.done
	f.cancel = nil
	return f.release()
}

// release continues in the reverse order, children before parents.
func (f *treeFreezer) release() error {
	var errs []error
	for _, m := range slices.Backward(f.held) {
		if err := unix.PidfdSendSignal(m.fd, unix.SIGCONT, nil, 0); err != nil && err != unix.ESRCH {
			errs = append(errs, fmt.Errorf("continuing process %d: %w", m.pid, err))
		}
		if m != f.stage {
			unix.Close(m.fd)
		}
	}
	f.held, f.known = nil, nil
	return errors.Join(errs...)
}

func (f *treeFreezer) stop(m *member) error {
	if err := unix.PidfdSendSignal(m.fd, unix.SIGSTOP, nil, 0); err != nil {
		return err
	}
	f.held, f.known[m.process] = append(f.held, m), true
	return nil
}

// stopAll looks until a look finds nobody new.
func (f *treeFreezer) stopAll() error {
	for range freezeRounds {
		fresh, err := f.round()
		if err != nil || fresh == 0 {
			return err
		}
	}
	return errUnsettled
}

// round stops, parents first, whoever runs, and says how many those were. One
// of ours that somebody has continued is stopped again.
func (f *treeFreezer) round() (int, error) {
	fresh := 0
	for _, p := range f.members() {
		if stopped(&p.Stat) {
			continue
		}
		id := process{p.pid, p.Start}
		fd, err := unix.PidfdOpen(p.pid, 0)
		if err == unix.ESRCH {
			continue
		}
		if err != nil {
			return fresh, fmt.Errorf("opening process %d: %w", p.pid, err)
		}
		// The number was the process's own if it still names the same one.
		if again, err := procfs.ReadStat(p.pid); err != nil || again.Start != p.Start || again.Gone() {
			unix.Close(fd)
			continue
		}
		if f.known[id] {
			_ = unix.PidfdSendSignal(fd, unix.SIGSTOP, nil, 0)
			unix.Close(fd)
			continue
		}
		if err := f.stop(&member{id, fd}); err != nil {
			unix.Close(fd)
			if err == unix.ESRCH {
				continue
			}
			return fresh, fmt.Errorf("stopping process %d: %w", p.pid, err)
		}
		fresh++
	}
	return fresh, nil
}

// settle waits, not for long, until all have stopped. One that waits in the
// kernel stops when it comes back, before it does anything; one that waits for an
// answer of ours does not come back before that, and is not waited for.
func (f *treeFreezer) settle() {
	for end := time.Now().Add(settleTime); time.Now().Before(end); time.Sleep(time.Millisecond) {
		running := slices.ContainsFunc(f.members(), func(p found) bool { return !stopped(&p.Stat) && !(p.State == 'D' && asks(p.pid)) })
		if !running {
			return
		}
	}
}

// keep stops again what somebody outside continues, such as a shell's fg,
// which goes to the whole process group.
func (f *treeFreezer) keep(cancel, done chan struct{}) {
	defer close(done)
	tick := time.NewTicker(holdInterval)
	defer tick.Stop()
	for {
		select {
		case <-cancel:
			return
		case <-tick.C:
			_ = unix.PidfdSendSignal(f.stage.fd, unix.SIGSTOP, nil, 0)
			_, _ = f.round()
		}
	}
}

// asks says whether a process waits for the answer to a trapped system call, where the
// kernel tells that.
func asks(pid int) bool {
	where, err := readProc(procPath(pid, "wchan"))
	return err == nil && strings.HasPrefix(string(where), "seccomp_do_user_notification")
}

func stopped(s *procfs.Stat) bool { return s.State == 'T' || s.State == 't' }

type found struct {
	pid int
	procfs.Stat
}

// members are the processes of the workspace but for the stage, parents before
// children: those in its pid namespace or one below, however they came there,
// and all descendants of the stage, for where a namespace cannot be read.
func (f *treeFreezer) members() []found {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := dir.Readdirnames(-1)
	dir.Close()
	all := make(map[int]found, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if s, err := procfs.ReadStat(pid); err == nil && !s.Gone() {
				all[pid] = found{pid, s}
			}
		}
	}
	var list []found
	depths := make(map[int]int)
	below := map[uint64]bool{f.nsPID: true}
	for pid, p := range all {
		depth, descends := f.depth(all, pid)
		if pid != f.stage.pid && (descends || inNamespace(pid, below)) {
			list, depths[pid] = append(list, p), depth
		}
	}
	slices.SortFunc(list, func(a, b found) int { return depths[a.pid] - depths[b.pid] })
	return list
}

// depth counts a process's ancestors and says whether the stage is one.
func (f *treeFreezer) depth(all map[int]found, pid int) (n int, descends bool) {
	for pid != f.stage.pid {
		p, ok := all[pid]
		if !ok || n > len(all) {
			return n, false
		}
		pid, n = p.Parent, n+1
	}
	return n, true
}

// inNamespace says whether a process's pid namespace is among below, or has
// one of those above it; what it learns it writes there.
func inNamespace(pid int, below map[uint64]bool) bool {
	var st unix.Stat_t
	if unix.Stat(procPath(pid, "ns/pid"), &st) != nil {
		return false
	}
	if known, ok := below[st.Ino]; ok {
		return known
	}
	fd, err := unix.Open(procPath(pid, "ns/pid"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	in := false
	for range 33 { // the kernel's own bound is 32 levels
		up, err := unix.IoctlRetInt(fd, unix.NS_GET_PARENT)
		unix.Close(fd)
		fd = -1
		var above unix.Stat_t
		if err != nil || unix.Fstat(up, &above) != nil {
			break
		}
		if fd = up; below[above.Ino] {
			in = true
			break
		}
	}
	if fd >= 0 {
		unix.Close(fd)
	}
	below[st.Ino] = in
	return in
}
