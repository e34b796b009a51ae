// Package ancestry knows what has started a process, also where each parent in between
// has ended, and session, terminal, environment and program are others.
//
// Every process inherits its parent's resource limits, and without CAP_SYS_RESOURCE
// nothing raises a hard limit again. The one that is used, RLIMIT_RTTIME, says how many
// microseconds a real-time program may compute without a pause; it is infinite nearly
// everywhere, and the values here are of more than a hundred years. See getrlimit(2).
//
// What it says is no wall: root has the capability, and what was started before its agent
// was marked is not known. It is one thing among several that tell a person from a program.
package ancestry

// InsideLimit is the hard limit of what runs, or ran, in a workspace.
const InsideLimit = 1 << 52

// agentBase is, with the number of its process added, the hard limit of an agent outside,
// and of what it starts afterwards.
const (
	agentBase = 1 << 53
	maxPID    = 1 << 22 // PID_MAX_LIMIT of the kernel
)

// Kind says what has started a process.
type Kind uint8

// The kinds.
const (
	Unmarked  Kind = iota
	Workspace      // a command in a workspace
	Agent          // an agent that [Mark] was told of
	Lowered        // something that has lowered the limit since, which does not happen by chance
)

// kindOf reads a hard limit. own is that of the process that asks, which is the usual one
// unless it is marked itself.
func kindOf(limit, own, infinite uint64) (k Kind, agent int) {
	switch {
	case limit == infinite:
		return Unmarked, 0
	case limit == InsideLimit:
		return Workspace, 0
	case limit > agentBase && limit <= agentBase+maxPID:
		return Agent, int(limit - agentBase)
	case limit == own:
		return Unmarked, 0 // the system gives its users this one
	}
	return Lowered, 0
}
