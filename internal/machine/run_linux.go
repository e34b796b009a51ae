package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"carrel/internal/broker"
	"carrel/internal/interceptor"
	"carrel/internal/lima"
	"carrel/internal/policy"
	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// endGrace is how long limactl has to end, and the processes in a machine after it.
const endGrace = 10 * time.Second

// Run is one command in a machine, with what decides about its changes of the project.
type Run struct {
	machine *Machine
	project string
	masks   map[string]bool

	Decider  broker.Decider
	Recorder broker.Recorder
	Refused  broker.Refused
	Policy   *policy.Effective
	Hidden   func() []string // secrets that came meanwhile
	Alone    func() (func(), error)
	Relay    io.Reader // the program
	Note     func(format string, args ...any)
}

// NewRun is a command that is to work in a project, as a plan shows that.
func (m *Machine) NewRun(project string, plan *sandbox.Plan) *Run {
	r := &Run{machine: m, project: project, masks: make(map[string]bool)}
	for _, mount := range plan.Mounts {
		if mount.Kind == sandbox.MountMask {
			r.masks[mount.Target] = true
		}
	}
	return r
}

// masked says what of the project a machine sees as a name and nothing else: what is denied,
// what a mask would lie on behind walls, and secrets that came meanwhile.
func (r *Run) masked(path string) bool {
	return r.masks[path] || r.Policy.Lookup(path).Access == policy.Deny || slices.Contains(r.Hidden(), path)
}

// Command starts the machine where it does not run, and a command in it; its streams are this
// process's. late says that the time of the context was over.
func (r *Run) Command(ctx context.Context, dir string, argv []string) (status syscall.WaitStatus, late bool, err error) {
	program := r.machine.Program
	m, err := program.Raise(ctx, r.machine.Spec)
	if err != nil {
		return 0, false, err
	}
	if err := program.EndCommands(ctx, m); err != nil {
		return 0, false, err
	}
	stop, err := r.serve(ctx, m)
	if err != nil {
		return 0, false, err
	}
	defer stop()
	command := program.Command(ctx, m, dir, argv)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	err = command.Run()
	after, done := context.WithTimeout(context.WithoutCancel(ctx), endGrace)
	defer done()
	if left := program.EndCommands(after, m); left != nil {
		r.Note("processes may be left in %s: %v", m.Name, left)
	}
	if command.ProcessState == nil {
		return 0, false, err
	}
	status = command.ProcessState.Sys().(syscall.WaitStatus)
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		return status, false, err
	}
	return status, errors.Is(ctx.Err(), context.DeadlineExceeded), nil
}

// serve serves the project to a machine until stop is called. The machine has shown that it
// has the project's own directory there.
func (r *Run) serve(ctx context.Context, m *lima.Machine) (stop func(), err error) {
	root, err := unix.Open(r.project, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the project: %w", err)
	}
	defer unix.Close(root)
	var st unix.Stat_t
	if err := unix.Fstat(root, &st); err != nil {
		return nil, err
	}
	server, err := interceptor.New(interceptor.Config{
		Roots: []interceptor.Root{{Path: r.project, FD: root}}, Decider: r.Decider, Recorder: r.Recorder, Refused: r.Refused,
		Masked: r.masked, UID: lima.AgentID, GID: lima.AgentID, Alone: r.Alone,
	})
	if err != nil {
		return nil, err
	}
	program := r.machine.Program
	if err := program.PutRelay(ctx, m, r.Relay); err != nil {
		server.Close()
		return nil, err
	}
	// A command that is ended by a signal ends first: the relay has a context of its own.
	relay, err := program.StartRelay(context.WithoutCancel(ctx), m, []string{r.project}, func(in io.Reader, out io.Writer) error {
		return server.Serve(interceptor.Stream(in, out))
	})
	if err != nil {
		server.Close()
		return nil, err
	}
	stop = func() {
		if err := relay.Close(); err != nil {
			r.Note("the relay in %s: %v", m.Name, err)
		}
		server.Close()
	}
	if err := program.CheckRoot(ctx, m, r.project, st.Ino); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}
