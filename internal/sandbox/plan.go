// Package sandbox compiles a decided policy to a plan of walls, and starts the stage with
// it.
//
// [Compile] makes an engine-neutral [Plan] from an effective policy: which mounts in which
// order, which namespaces, which limits. It is pure; what it must know of the machine comes in
// through [Facts]. [Launch] starts the stage (package stage), our own binary as PID 1 of new
// namespaces. That builds the walls from the plan and starts commands behind them.
//
// The plan reaches the stage in a sealed memory file, never in argv. Guest path
// (Target) and host path (Source) are separate everywhere. Every source is
// opened inside the new mount namespace, component by component without
// following a symlink, and mounted from that descriptor: no path is resolved
// twice, and a directory that is swapped for a symlink in between is an error.
//
// This package must not decide anything: whether a path may be written, which
// network a workspace gets and why is package policy's word. It imports policy
// and no other mechanism.
package sandbox

// PlanVersion is raised with every change of the wire form. Supervisor and
// stage are one binary, so a mismatch means that the binary was replaced while
// it ran.
const PlanVersion = 11

// Plan is everything that the stage needs, in the order of its use.
type Plan struct {
	Engine   Engine // what makes the mounts; "" means EngineNamespaces
	UID, GID uint32

	NewNet   bool // a network namespace of its own
	Loopback bool // bring its loopback interface up, and let everybody listen on all its ports
	Pool     bool // make the addresses of [Pool] local to it

	// Listeners are made before anything is started, and handed out in this order.
	Listeners []Listener

	Mounts []Mount

	// Given is a mount of other walls' that comes with the plan, a descriptor of the one who
	// holds the plan; 0 for none.
	Given int

	// UserLimits are written to /proc/sys/user/NAME of the workspace's own user
	// namespace, so that what the nesting level forbids is out of reach for
	// every descendant, and all of them together leave something of what the
	// kernel counts for the user.
	UserLimits []UserLimit

	// Roots are the guest paths whose changes a broker carries out: read-only
	// inside, read-write in the mirror that goes to the supervisor together with
	// the listener of the filter's notifications. None: no broker.
	Roots []string

	// Plain is EngineNone where the system gives no namespaces: nothing is built, and
	// there is no broker. The stage does not look at it.
	Plain bool

	// Reads says that the broker decides opens for reading as well; the stage does
	// not look at it.
	Reads bool

	// NoExec are mounts in which nothing can be started or mapped as code.
	NoExec []string

	// Private is a new directory of the host that stands in for all that is
	// private, with EngineLandlock; Grants are what it lets be used.
	Private string
	Grants  []Grant

	Landlock Landlock
	Seccomp  []byte // a classic BPF program, 8 bytes an instruction; empty for none

	NProc uint64 // RLIMIT_NPROC, counted in the workspace's own user namespace; 0 to leave

	// HighestPID is kernel.pid_max of the workspace's own pid namespace, since Linux
	// 6.14; 0 to leave. It bounds how many processes and threads there are.
	HighestPID uint64

	// Container starts the container of EngineContainer; the stage does not know it.
	Container Container

	Command Command // started as soon as the walls are up; empty Argv for none
}

// Listener is a socket that the stage makes in the workspace's network and hands
// to the supervisor, which accepts in its own process.
type Listener struct {
	Network  string // "tcp", "udp" or "unix"
	Address  string // address:port, v6 in brackets; a guest path
	Optional bool   // where the system has no such address, there is none
}

// UserLimit is one limit of a user namespace, see namespaces(7).
type UserLimit struct {
	Name  string // "max_mnt_namespaces"
	Value uint64
}

// Landlock says what it holds.
type Landlock struct {
	Files bool     // handle file access: every mount becomes impossible inside
	Write []string // guest paths below which everything is allowed
	// Limited, with Files: only the files of Execute can be started.
	Limited bool
	Execute []string
	Scopes  bool // no signals to and no abstract sockets of processes outside
}

// Grant is something of the host that may be used where there is no view.
type Grant struct {
	Path     string // canonical; no link is followed
	Write    bool   // else it is read, and started
	Device   bool   // read, written and controlled, but not started
	Data     bool   // read, and nothing else
	Optional bool   // skip what does not exist
	Dev, Ino uint64 // as in Mount
}

// Command is one program to start inside.
type Command struct {
	Argv []string
	Env  []string
	Dir  string
	// Path is the file to execute; "" means that the stage looks Argv[0] up in
	// the PATH of Env, inside the walls.
	Path string

	Session  bool   // it leads a session of its own, and its signals go to its whole process group
	Terminal bool   // with Session: its standard input becomes that session's terminal
	Label    uint64 // see [SetLabel]; 0 for none
}

// MountKind says what a mount step does.
type MountKind uint8

const (
	// MountBind binds Source (and all that is mounted below it) to Target.
	MountBind MountKind = iota + 1
	// MountTmpfs puts an empty private directory in memory at Target.
	MountTmpfs
	// MountGiven puts the mount of Plan.Given at Target.
	MountGiven
	// MountProc mounts a fresh procfs for the new pid namespace. Optional: where
	// the kernel refuses one, go on without, and report a note; never with the
	// one around.
	MountProc
	// MountPts mounts a private devpts instance.
	MountPts
	// MountOverlay binds Source as it looks in an overlay of Upper over Lower;
	// steps with the same Lower share one overlay. Where the kernel or the file
	// systems refuse it, Spare is bound instead, or Source read-only where there
	// is none, and the stage reports a note. One that is Kept is what a person reviews
	// afterwards: it is synced, and where it cannot be made nothing starts.
	MountOverlay
	// MountMask hides what is at Target behind an empty, unreadable object of
	// the same kind (Dir or not): reading it gives EACCES.
	MountMask
	// MountData covers the existing file at Target with one holding Data.
	MountData
	// WriteFile creates Target with Data and Perm on a memory file system.
	WriteFile
	// MakeDir creates Target with Perm on a memory file system.
	MakeDir
	// MakeSymlink creates the symlink Target pointing to Source.
	MakeSymlink
	// MountDevice binds the device node Source to Target, with devices allowed.
	MountDevice
	// MountSelf binds Target onto itself inside the new root, read-only or not:
	// a mount point can be neither renamed nor removed.
	MountSelf
	// Freeze makes the mount at Target (not what is mounted below it) read-only,
	// after giving its root the mode Perm where that is not 0.
	Freeze
	// MountHost binds Source with all that is mounted below it to Target, as the
	// host has it, devices too.
	MountHost
	// MountImage has what is at the root of a container's image at the root, read-only,
	// where the plan has nothing itself. A directory of the image in which the plan makes
	// something is put together in memory, of the image's entries.
	MountImage
)

// Mount is one step in building the view.
type Mount struct {
	Kind     MountKind
	Target   string // guest path, absolute and clean
	Source   string // host path, absolute and clean (MakeSymlink: the link's text)
	Lower    string // MountOverlay: host directory at or above Source
	Upper    string // MountOverlay: host directory for changes below Lower
	Work     string // MountOverlay: host directory on the same file system as Upper
	Spare    string // MountOverlay: host directory to bind where there can be no overlay
	ReadOnly bool
	Optional bool // skip where Source or Target does not exist; another sense for MountProc
	Dir      bool // Target is a directory
	// Bare, with MountData, MountMask of a file and MountSelf: the broker has what is
	// below it, so that it can be removed there as any other file or directory.
	Bare bool
	Kept bool // MountOverlay: see there
	// Dev and Ino are what Source was when it was decided about; the stage
	// refuses anything else in its place. Ino 0 is not checked.
	Dev, Ino uint64
	Perm     uint32
	// Copies, with MountTmpfs: so many further mounts of the directory are handed to the
	// supervisor, for other walls; see Plan.Given.
	Copies uint64
	Data   []byte
	Reason string // why, for people; the stage does not look at it
}
