package seccomp

import (
	"fmt"
	"runtime"

	"carrel/internal/policy"
)

// Arch is an architecture that a program can be built for.
type Arch uint8

const (
	AMD64 Arch = iota + 1
	ARM64
)

// HostArch returns the architecture that this program was compiled for, or an
// error where there are no rules for it.
func HostArch() (Arch, error) {
	switch runtime.GOARCH {
	case "amd64":
		return AMD64, nil
	case "arm64":
		return ARM64, nil
	}
	return 0, fmt.Errorf("choosing a system call filter: architecture %q, want amd64 or arm64", runtime.GOARCH)
}

// Options say what a program is built for.
type Options struct {
	Arch Arch

	// Nesting is the level of sandboxes that may be built inside.
	Nesting policy.Nesting

	// Debug allows ptrace, process_vm_readv and process_vm_writev. The kernel
	// limits them to processes of the same user in the
	// same pid and user namespaces, so debuggers and strace reach nothing
	// outside the walls; without it they answer EPERM.
	Debug bool

	// NoGroupSignals refuses signals to the whole process group. It is for
	// kernels without Landlock scopes (before 6.12): the group is shared with
	// the caller outside, as a pipeline's members share one.
	NoGroupSignals bool

	// Broker traps the calls that can change an object of a file system, for a
	// supervisor that decides and carries them out. The program needs a
	// listener then: install.Filter. See trapped.go.
	Broker bool

	// Programs is for a workspace in which only some programs may be started:
	// memory files that could be started are refused, which no rule about paths
	// reaches, and with Broker every start is told, so that a refusal can be
	// explained.
	Programs bool

	// Alone is for commands without namespaces of their own: what those keep
	// apart is refused here. See alone.go. Internet, with it, allows sockets of
	// the Internet's families.
	Alone, Internet bool

	// Open is for commands without walls: nothing is refused but what the broker cannot
	// do without. See open.go.
	Open bool

	// Opens, with Broker, traps every open but those for O_PATH, and starts of
	// programs, for rules that deny reading by pattern.
	Opens bool
}

// Class is what can become of a system call.
type Class uint8

const (
	Allow       Class = iota + 1 // always passed to the kernel
	Refuse                       // always answered with an errno
	Conditional                  // depends on an argument
	Trap                         // always held for the listener (Options.Broker)
)

// String returns the class as tables print it.
func (c Class) String() string {
	switch c {
	case Allow:
		return "allow"
	case Refuse:
		return "refuse"
	case Conditional:
		return "conditional"
	case Trap:
		return "trap"
	}
	return fmt.Sprintf("class %d", uint8(c))
}

// Call is one system call with what the options make of it.
type Call struct {
	Name   string
	Number uint32
	Class  Class
	Errno  uint16 // for Refuse: the Linux errno that it answers
	Traps  bool   // Trap, or Conditional and held for the listener for some arguments
	Reason string
}

// Calls returns every known system call of o.Arch in ascending order of
// numbers, as Build treats it.
func Calls(o Options) ([]Call, error) {
	numbers, _, err := o.arch()
	if err != nil {
		return nil, err
	}
	byName, err := o.outcomes()
	if err != nil {
		return nil, err
	}
	calls := make([]Call, 0, len(numbers))
	for _, n := range numbers {
		out, ok := byName[n.name]
		if !ok {
			return nil, fmt.Errorf("classifying system calls: number %d, %q, is in no rule", n.nr, n.name)
		}
		calls = append(calls, Call{
			Name: n.name, Number: n.nr,
			Class: out.class(), Errno: out.errno, Traps: out.class() == Trap || o.traps(out.condition), Reason: out.reason,
		})
	}
	return calls, nil
}

// Build returns the filter program for o. It is deterministic. An unknown
// architecture or nesting level is an error.
func Build(o Options) ([]Instruction, error) {
	numbers, audit, err := o.arch()
	if err != nil {
		return nil, err
	}
	byName, err := o.outcomes()
	if err != nil {
		return nil, err
	}
	spans, err := spansOf(numbers, byName)
	if err != nil {
		return nil, err
	}
	b := newBuilder(o)
	b.prologue(audit)
	b.tree(spans)
	b.conditions()
	return b.finish()
}

// number is one line of a generated table.
type number struct {
	nr   uint32
	name string
}

// AUDIT_ARCH_ values of linux/audit.h: machine, 64 bits, little endian.
const (
	auditAMD64 = 0xc000003e
	auditARM64 = 0xc00000b7
)

func (o Options) arch() ([]number, uint32, error) {
	switch o.Arch {
	case AMD64:
		return amd64Numbers, auditAMD64, nil
	case ARM64:
		return arm64Numbers, auditARM64, nil
	}
	return nil, 0, fmt.Errorf("building a system call filter: architecture %d, want AMD64 or ARM64", o.Arch)
}
