package sandbox

import "fmt"

// StageArg0 is argv[0] of the stage. The program looks at it before anything
// else runs.
const StageArg0 = "carrel-stage"

// ControlFD is the one descriptor that the stage starts with beside its standard
// ones: a SOCK_SEQPACKET to the supervisor. Everything else comes over it.
const ControlFD = 3

// StepListener is the step of a [SetupError] that could not have the filter's
// notifications: EBUSY where a process around this one has them already, EINVAL
// where the kernel cannot hold callers as the broker needs it.
const StepListener = "listening to the seccomp filter"

// StepLayer is the step of a [SetupError] that could not lay an overlay over what is to be
// reviewed.
const StepLayer = "laying a copy-on-write layer over"

// SetupError is what the stage says when it cannot build the walls.
type SetupError struct {
	Step string // what was being done: "mounting", "opening source"
	Path string // the path it was done to; may be ""
	Err  string // the system's words, errno text
	Code int    // errno, 0 where there is none
}

func (e *SetupError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%s: %s", e.Step, e.Err)
	}
	return fmt.Sprintf("%s %q: %s", e.Step, e.Path, e.Err)
}

// Exit is how a command ended.
type Exit struct {
	Code   int // exit status; meaningless when Signal is not 0
	Signal int // the signal that ended it, or 0
}

// StartError is a command that the stage could not start inside the walls.
type StartError struct {
	Name string
	Err  string
	Code int // errno: ENOENT means that it is not visible inside
}

func (e *StartError) Error() string { return fmt.Sprintf("starting %q: %s", e.Name, e.Err) }
