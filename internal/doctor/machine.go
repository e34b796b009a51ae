package doctor

import (
	"cmp"
	"fmt"
	"syscall"
	"time"
)

// Machine is all that the checks may ask. Functions give errors that hold an
// errno where the kernel gave one.
type Machine struct {
	OS       string // as runtime.GOOS
	UID      int
	Release  string        // of the kernel, as uname -r
	Self     string        // canonical path of our own program
	Patience time.Duration // how long a probe may take; 0 for the usual

	Getenv func(string) string
	Read   func(path string) (string, error) // a small file, such as a sysctl
	Exists func(path string) bool
	Find   func(program string) string // path of a system program, "" for none
	// Locked says that nobody but root can put another file at a path.
	Locked func(path string) bool
	// First says that our namespaces are those that the kernel began with.
	First func() bool

	// Namespace makes a process in new namespaces: user with this uid mapped,
	// and those of the kinds given.
	Namespace func(kinds ...Kind) error
	// Memory reads the memory of a process in a user namespace of its own, as
	// the broker reads a caller's.
	Memory func() error
	// Try builds walls of a small plan and takes them down.
	Try func(Trial) error
	// Landlock gives the kernel's Landlock ABI, 0 for none.
	Landlock func() (int, error)
	// Cgroup makes a control group with that controller and removes it.
	Cgroup func(controller string) error
	// State looks at the state directory.
	State func() Place
	// Places are home and the working directory, as far as there are any.
	Places func() []Place

	Lima       *Lima       // nil: no question of backend lima
	VM         *VM         // nil: no question of backend vm
	Containers *Containers // nil: none of backend container
	Gvisor     *Gvisor     // nil: none of backend gvisor
}

// Kind is a kind of namespace, by its name in /proc/sys/user/max_KIND_namespaces.
type Kind string

const (
	User   Kind = "user"
	Mnt    Kind = "mnt"
	PID    Kind = "pid"
	IPC    Kind = "ipc"
	UTS    Kind = "uts"
	Cgroup Kind = "cgroup"
	Net    Kind = "net"
)

// Trial is one small set of walls.
type Trial string

const (
	TrialMounts   Trial = "mounts"   // memory file systems, a bind of /usr, a new root
	TrialProc     Trial = "proc"     // those, and a fresh procfs
	TrialNoProc   Trial = "no-proc"  // those, and what there is instead where that is refused
	TrialLoopback Trial = "loopback" // those, and a network with a loopback interface
	TrialOverlay  Trial = "overlay"  // those, and an overlay
	TrialFilter   Trial = "filter"   // those, and the system call filter
	TrialHistory  Trial = "history"  // those, and a filter with a listener, as the broker needs it
)

// Place is a directory, or the nearest directory above it that exists.
type Place struct {
	Path    string // where it is or would be; "" when there is no place for it
	Exists  bool
	Nearest string // the nearest existing directory, Path itself when it exists
	Denied  error  // why this user cannot write there, nil when it can
	Safe    bool   // a directory of this user that nobody else can write
	Owned   bool   // by this user
	NoExec  bool   // nothing can be started from it
	Free    uint64 // bytes
	Files   uint64 // that can still be made
	Known   bool   // Free and Files are known
}

// bounded is the machine with an end to how long a probe takes.
func (m *Machine) bounded() *Machine {
	b, limit := *m, cmp.Or(m.Patience, patience)
	b.Namespace = func(kinds ...Kind) error {
		return within(limit, func() error { return m.Namespace(kinds...) })
	}
	b.Memory = func() error { return within(limit, m.Memory) }
	b.Try = func(t Trial) error { return within(limit, func() error { return m.Try(t) }) }
	b.Cgroup = func(c string) error { return within(limit, func() error { return m.Cgroup(c) }) }
	b.State = func() Place {
		s, err := answered(limit, func() (Place, error) { return m.State(), nil })
		if err != nil {
			return Place{Path: "?", Nearest: "?", Denied: err}
		}
		return s
	}
	b.Places = func() []Place {
		list, _ := answered(limit, func() ([]Place, error) { return m.Places(), nil })
		return list
	}
	if m.Gvisor != nil {
		b.Gvisor = m.Gvisor.bounded(limit)
	}
	if m.Lima != nil {
		b.Lima = m.Lima.bounded(limit)
	}
	if m.VM != nil {
		b.VM = m.VM.bounded(limit)
	}
	if m.Containers != nil {
		b.Containers = m.Containers.bounded(limit)
	}
	return &b
}

// maxHanging bounds the probes of this process that hang. It may be a server,
// which is asked again and again.
const maxHanging = 16

var hanging = make(chan struct{}, maxHanging)

// answered is [within] for a probe that finds something.
func answered[T any](limit time.Duration, probe func() (T, error)) (T, error) {
	found := make(chan T, 1)
	err := within(limit, func() error {
		one, err := probe()
		found <- one
		return err
	})
	select {
	case one := <-found:
		return one, err
	default:
		return *new(T), err
	}
}

// within gives a probe that long. One that hangs is left behind; what it has
// started ends with us.
func within(limit time.Duration, probe func() error) error {
	select {
	case hanging <- struct{}{}:
	default:
		return fmt.Errorf("not tried: %d earlier probes hang: %w", maxHanging, syscall.ETIMEDOUT)
	}
	done := make(chan error, 1)
	go func() {
		defer func() { <-hanging }()
		done <- probe()
	}()
	clock := time.NewTimer(limit)
	defer clock.Stop()
	select {
	case err := <-done:
		return err
	case <-clock.C:
		return fmt.Errorf("no answer in %v: %w", limit, syscall.ETIMEDOUT)
	}
}
