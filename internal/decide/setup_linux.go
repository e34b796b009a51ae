package decide

import (
	"errors"
	"fmt"
	"os"

	"carrel/internal/advice"
	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// ExplainSetup says what would help where the walls could not be built, which were to stand
// in a container or not.
func ExplainSetup(err error, contained bool) error {
	var s *sandbox.SetupError
	if !errors.As(err, &s) {
		return err
	}
	hint := "run `carrel doctor` to see what this machine can hold"
	_, err = os.Lstat(sandbox.SelfPath)
	inside := err == nil && os.Getenv(EnvInside) == "1"
	switch {
	case s.Step == sandbox.StepListener:
		return noListener(s, inside, contained)
	case s.Step == sandbox.StepLayer:
		hint = "the file system of the state directory cannot be the upper part of an overlay: XDG_STATE_HOME names another one (ext4, " +
			"xfs, btrfs, tmpfs); " +
			"or run with --history on"
	case inside:
		hint = "this is already inside a carrel workspace; a second one inside needs `--nested full` on the outer one"
	case s.Code == int(unix.ETOOMANYREFS):
		hint = "a program of yours, perhaps in another workspace, has as many descriptors on their way through sockets as you may have open (`ulimit -n`): `carrel ps` lists workspaces, `carrel stop` ends one"
	}
	return &advice.Error{Err: s, Hint: hint}
}

// noListener says why the changes cannot go through the broker, and what would
// be right. Going on without is never chosen for anybody.
func noListener(s *sandbox.SetupError, inside, contained bool) error {
	const off = "`--history off` runs without it: changes are then neither decided nor recorded one by one"
	switch {
	case inside:
		return &advice.Error{Err: fmt.Errorf("this is inside a workspace whose changes are recorded already, and there can be only one that does: %w", s),
			Hint: "run the command itself, it is behind walls here; or start this workspace outside, or the outer one with `--nested full --history off`"}
	case s.Code == int(unix.EBUSY) && contained:
		return &advice.Error{Err: fmt.Errorf("the engine's runtime listens to the system calls of its containers (seccomp), and the kernel allows only one listener: %w", s),
			Hint: "have the engine use runc or crun without a listener (runtime in containers.conf, default-runtime in docker's daemon.json); " + off}
	case s.Code == int(unix.EBUSY):
		return &advice.Error{Err: fmt.Errorf("a program around this one listens to system calls already (seccomp), and the kernel allows only one: %w", s),
			Hint: "start carrel outside of that program; " + off}
	case s.Code == int(unix.EINVAL):
		return &advice.Error{Err: fmt.Errorf("this kernel cannot hold a stopped call through signals (WAIT_KILLABLE_RECV); the history needs Linux 5.19 or later: %w", s),
			Hint: "use a newer kernel; " + off}
	}
	return &advice.Error{Err: fmt.Errorf("changes cannot be stopped to be decided and recorded: %w", s), Hint: "run `carrel doctor`; " + off}
}
