package guestinit

// Port is the port of a machine over which it is told what to do.
const Port = "carrel.init"

// Program is where a machine has carrel-relay, and FilesDir where the served files are mounted first.
const (
	ownDir   = "/.carrel"
	Program  = ownDir + "/carrel-relay"
	FilesDir = ownDir + "/files"
)

// Order is what a machine is told: one of its parts.
type Order struct {
	Begin *Begin `json:",omitempty"`
	Start *Start `json:",omitempty"`
	Build *Build `json:",omitempty"`
	Stop  string `json:",omitempty"` // a port: what was started there is killed
}

// Begin is the first order. A machine has neither the time nor randomness of its own.
type Begin struct {
	Time int64 // nanoseconds since 1970
	Seed []byte
	User uint32 // of commands, with a group of the same number
	Name string // of the host, which its files call it by
}

// Start has carrel-relay started, with a port as its standard input and output.
type Start struct {
	Port string
	Args []string
}

// Build has steps taken, in their order.
type Build struct{ Steps []Step }

// Step makes something at a path of the machine's system.
type Step struct {
	Kind StepKind
	To   string
	From string // Bind: below the files that are served, or absolute in the machine; Link: its text
	Data []byte // File
	Perm uint32 // Memory and File
	Own  bool   // it is the user's of commands
	// ReadOnly, with Bind, has the machine's kernel refuse changes itself.
	ReadOnly bool
	// Optional has a step left out that cannot be taken.
	Optional bool
}

// StepKind is what a step makes.
type StepKind string

const (
	Bind    StepKind = "bind"    // a file or directory
	Memory  StepKind = "memory"  // an empty directory
	Overlay StepKind = "overlay" // what is there, with changes that stay in memory
	Link    StepKind = "link"
	File    StepKind = "file"
)

// Answer is what a machine says: one of its parts.
type Answer struct {
	Up    bool   `json:",omitempty"` // it runs, and waits for the first order
	Began bool   `json:",omitempty"` // it has begun, and waits for others
	Built bool   `json:",omitempty"` // all steps of the last Build were taken
	Said  *Said  `json:",omitempty"`
	Ended *Ended `json:",omitempty"`
	Error string `json:",omitempty"` // why it has not begun, or not built
}

// Said is what the program at a port says on its standard error.
type Said struct {
	Port string
	Text string
}

// Ended tells the end of the program at a port.
type Ended struct {
	Port string
	Code int
}
