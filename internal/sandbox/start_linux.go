package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Stage is a stage that was started ahead of its plan: its process and its
// namespaces exist, nothing is built yet. Starting it while the policy is still
// being decided hides most of its start behind that work, and a small process
// forks faster than one that has read its configuration.
type Stage struct {
	walls  *Walls
	engine Engine
	newNet bool
	plain  bool
	plan   *Plan // what it is to be told, where that is not the plan as it was asked for
	err    error // why it could not be started; Launch reports it
}

// Refused is the error where the system refuses us namespaces of our own, which
// another engine may get; nil for every other trouble and for none. It may be
// called on nil.
func (s *Stage) Refused() error {
	var e *SetupError
	if s == nil || !errors.As(s.err, &e) || e.Step != stepNamespaces {
		return nil
	}
	switch syscall.Errno(e.Code) {
	case unix.EPERM, unix.EACCES, unix.ENOSPC, unix.EUSERS:
		return e
	}
	return nil
}

// stepNamespaces is the step of a [SetupError] that could not have namespaces.
const stepNamespaces = "creating namespaces"

// StartStage starts a stage. newNet says whether its plan will ask for a network
// namespace; a wrong guess only costs another start. It never fails: what went
// wrong is Launch's to say, after the policy had its word.
func StartStage(exe string, newNet bool) *Stage {
	s := &Stage{engine: EngineNamespaces, newNet: newNet}
	OnLasting(func() { s.walls, s.err = forkStage(exe, []string{StageArg0}, stageAttributes(newNet), 0) })
	return s
}

// StartOpenStage is StartStage for a plan of [CompileOpen].
func StartOpenStage(exe string) *Stage {
	a := stageAttributes(false)
	a.Cloneflags = openNamespaces
	s := &Stage{engine: EngineNone}
	OnLasting(func() { s.walls, s.err = forkStage(exe, []string{StageArg0}, a, 0) })
	return s
}

// OnLasting does something on a thread that stays as long as this process. The kernel
// sends a death signal when the thread ends that has started a process, and threads do
// end: those of a broker with it, whatever they had started before.
func OnLasting(do func()) {
	done := make(chan struct{})
	lasting() <- func() { defer close(done); do() }
	<-done
}

var lasting = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for do := range work {
			do()
		}
	}()
	return work
})

// openNamespaces are what recording takes: mounts that are read-only but for the
// broker, which takes a user of one's own, and numbers that end with the stage.
const openNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID

// forkStage starts our own program as a stage. passCred, 0 or 1, has the kernel say
// who sends what comes over the control socket.
func forkStage(exe string, argv []string, attributes *syscall.SysProcAttr, passCred int) (*Walls, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("making the control socket: %w", err)
	}
	control, far := os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "stage control")
	defer far.Close()
	if err := unix.SetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_PASSCRED, passCred); err != nil {
		control.Close()
		return nil, fmt.Errorf("making the control socket: %w", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		control.Close()
		return nil, err
	}
	defer null.Close()
	pid, err := syscall.ForkExec(exe, argv, &syscall.ProcAttr{
		Dir: "/", Env: StageEnv, Files: []uintptr{null.Fd(), null.Fd(), null.Fd(), far.Fd()}, Sys: attributes,
	})
	if err != nil {
		control.Close()
		return nil, namespaceError(err)
	}
	w := newWalls(control)
	w.pid, w.child = pid, pid
	return w, nil
}

func newWalls(control *os.File) *Walls {
	return &Walls{
		api: -1, diag: -1, pidfd: -1, control: NewControlSocket(control), nextID: FirstCommand, gone: make(chan struct{}),
		exits: make(map[uint64]chan Exit), starts: make(map[uint64]chan error), dials: make(map[uint64]chan dialed),
		inner: make(map[uint64]int),
	}
}

// stageFor starts the stage of a plan.
func stageFor(p *Plan, exe string) *Stage {
	switch p.Engine {
	case EngineBubblewrap:
		return startInBubblewrap(p)
	case EngineLandlock:
		return startAlone(p, exe)
	case EngineContainer:
		return startInContainer(p)
	case EngineLima, EngineGvisor, EngineVM:
		return &Stage{engine: p.Engine, err: errors.New("the plan is for a machine, and nothing starts one")}
	case EngineNone:
		if p.Plain {
			return startPlain(p, exe)
		}
		return StartOpenStage(exe)
	}
	return StartStage(exe, p.NewNet)
}

// StageElsewhere is the stage of a plan under another kernel, which speaks by a control socket. end
// ends it, when its walls are closed.
func StageElsewhere(p *Plan, control *os.File, end func()) *Stage {
	w := newWalls(control)
	w.sweep = end
	return &Stage{engine: p.Engine, newNet: p.NewNet, walls: w}
}

// fits says whether the stage, or its failure, is that of a plan.
func (s *Stage) fits(p *Plan) bool {
	return s != nil && s.engine == cmp.Or(p.Engine, EngineNamespaces) && s.plain == p.Plain && (s.err != nil || s.newNet == p.NewNet)
}

// Abandon ends a stage that gets no plan. It may be called on nil.
func (s *Stage) Abandon() {
	if s != nil && s.walls != nil {
		s.walls.Kill()
	}
}

// Capabilities that the stage needs in its own user namespace while it builds:
// it holds them over nothing outside, and gives all of them up before any
// command starts.
var stageCapabilities = []uintptr{
	unix.CAP_SYS_ADMIN,    // mounts
	unix.CAP_NET_ADMIN,    // loopback up, the pool's route, ports below 1024
	unix.CAP_NET_RAW,      // packet sockets of the loopback interface
	unix.CAP_SETPCAP,      // emptying the bounding set
	unix.CAP_SYS_CHROOT,   // the thread that binds sockets in the mirror
	unix.CAP_SYS_RESOURCE, // limits of nested namespaces
	unix.CAP_DAC_OVERRIDE, // an overlay's work directory has mode 0; it is the user's own
}

// StageEnv is the environment of a stage: it tunes the Go runtime for a program that runs for milliseconds on one
// goroutine: the collector would only cost, and with one processor the runtime
// would start a thread at every system call of more than 20 microseconds.
var StageEnv = []string{"GOMAXPROCS=2", "GOGC=off", "GOMEMLIMIT=64MiB", "GODEBUG=asyncpreemptoff=1"}

func stageAttributes(newNet bool) *syscall.SysProcAttr {
	return NestedAttributes(os.Getuid(), os.Getgid(), newNet)
}

// NestedAttributes start a stage that has this process's ids as uid and gid.
func NestedAttributes(uid, gid int, newNet bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: os.Getgid(), Size: 1}},
		AmbientCaps: stageCapabilities,
		Pdeathsig:   syscall.SIGKILL,
	}
	if newNet {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	return a
}

// namespaceError says which kernel setting refuses, as far as errno tells.
func namespaceError(err error) error {
	e := &SetupError{Step: stepNamespaces, Err: err.Error()}
	var n syscall.Errno
	if errors.As(err, &n) {
		e.Code, e.Err = int(n), n.Error()
	}
	return e
}
