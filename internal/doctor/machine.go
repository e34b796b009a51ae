package doctor

// Machine is all that the checks may ask. Functions give errors that hold an
// errno where the kernel gave one.
type Machine struct {
	OS      string // as runtime.GOOS
	UID     int
	Release string // of the kernel, as uname -r
	Self    string // canonical path of our own program

	Getenv func(string) string
	Read   func(path string) (string, error) // a small file, such as a sysctl
	Exists func(path string) bool
	Find   func(program string) string // path of a system program, "" for none

	// Namespace makes a process in new namespaces: user with this uid mapped,
	// and those of the kinds given.
	Namespace func(kinds ...Kind) error
	// Try builds walls of a small plan and takes them down.
	Try func(Trial) error
	// Landlock gives the kernel's Landlock ABI, 0 for none.
	Landlock func() (int, error)
	// Cgroup makes a control group with that controller and removes it.
	Cgroup func(controller string) error
	// State looks at the state directory.
	State func() Place
}

// Kind is a kind of namespace, by its name in /proc/sys/user/max_KIND_namespaces.
type Kind string

const (
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
	TrialLoopback Trial = "loopback" // those, and a network with a loopback interface
	TrialOverlay  Trial = "overlay"  // those, and an overlay
	TrialFilter   Trial = "filter"   // those, and the system call filter
)

// Place is the state directory, or the nearest directory above it that exists.
type Place struct {
	Path     string // where it is or would be; "" when there is no place for it
	Exists   bool
	Nearest  string // the nearest existing directory, Path itself when it exists
	Writable bool   // by this user
	Safe     bool   // a directory of this user that nobody else can write
	Free     uint64 // bytes
	Known    bool   // Free is known
}
