package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"carrel/internal/agents"
	"carrel/internal/api"
	"carrel/internal/decide"
	"carrel/internal/machine"
	"carrel/internal/notify"
	"carrel/internal/processes"
	"carrel/internal/sandbox"
	"carrel/internal/statedir"
	"carrel/internal/stdio"
	"carrel/internal/supervisor"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// killGrace is how long after the command was killed the whole workspace is.
const killGrace = 2 * time.Second

// answerOutside begins to answer for a workspace that runs; groups are the directories of
// its control groups. Where nobody can reach it the run goes on, with a note.
func (s *Session) answerOutside(up *raised, groups []string, r *api.Result) *supervisor.Server {
	walls, stage := up.walls, up.walls.PID()
	freezer, err := up.freezer(groups)
	if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) { // those: it has ended already
		s.Note("this workspace cannot be paused: %v", err)
	}
	seat := seatOfRun(s.desktop, s.clipboard, r.Workspace)
	server := serveOutside(s, r, func(c *supervisor.Config) {
		c.Freezer, c.Stop, c.Published, c.Hosts = freezer, stopper(walls, stage, up.machine), s.PublishedPorts(), up.hosts()
		c.Watch, c.Clipboard = s.desktop.Watch(), s.clipboard.Carry
		if seat != nil {
			c.Desktop = seat
		}
	})
	seat.answersTo(server)
	return server
}

// freezer makes what all of a workspace stands still by.
func (u *raised) freezer(groups []string) (supervisor.Freezer, error) {
	if u.machine != nil {
		return u.still, nil
	}
	own, err := supervisor.NewFreezer(u.walls.PID(), groups)
	if err != nil {
		return nil, err
	}
	u.still.add(own, nil)
	return u.still, nil
}

// takeMembers makes what finds the processes inside, until the function is called.
func (u *raised) takeMembers() func() {
	if u.machine != nil {
		u.members = u.machine
		return func() {}
	}
	own := processes.NewNamespace(u.walls.PID(), u.walls.Procfs)
	u.walls.Procfs, u.members = nil, own
	return own.Close
}

// serveOutside begins to answer for a command, with what the caller adds.
func serveOutside(s *Session, r *api.Result, add func(*supervisor.Config)) *supervisor.Server {
	config := supervisor.Config{
		ID: r.Workspace, Project: s.Place.Project, Argv: s.Request.Argv, Persona: string(s.Policy.Persona),
		Backend: string(s.Policy.Backend), Isolation: string(s.Policy.Backend.Isolation()), Started: r.Started,
		Dirs: statedir.Registry(s.Getenv), Agent: knownAgent(s.Decision), Ceiling: s.CeilingNotice(), Expiry: s.Expiry(), Held: s.CeilingRefuses,
		Denied: s.outOfTime, ProjectPaused: pauseOf(s), Waits: s.notifier(filepath.Base(s.Place.Project)).Tell,
	}
	add(&config)
	server, err := supervisor.Serve(config)
	if err != nil {
		s.Note("`carrel ps`, `pause` and `stop` cannot reach this workspace, and nothing can be approved: %v", err)
	}
	return server
}

// outOfTime tells that the ceiling has expired, also whoever sits in front of a command
// that stands still from now on.
func (s *Session) outOfTime(n api.Denial) {
	s.Deny(n)
	if term.IsTerminal(int(os.Stderr.Fd())) {
		fmt.Fprintf(os.Stderr, "\r\ncarrel: %s; it is paused, and `carrel stop` ends it\r\n", n.Message)
	}
}

// notifier tells the person's desktop of what waits for them, unless they do not want
// that.
func (s *Session) notifier(name string) *notify.Notifier {
	if want := s.Loaded.Settings.ApprovalsNotify; want != nil && !want.V {
		return nil
	}
	return notify.New(name, notify.Address(s.Getenv))
}

// stopper asks the command to end, then makes it, then ends the stage and with
// it everything inside. The pidfd is taken now, while the number is the
// stage's; a workspace that is gone by then is not hurt any more.
func stopper(walls *sandbox.Walls, stage int, m *machine.Run) func() {
	pidfd, err := unix.PidfdOpen(stage, 0)
	return func() {
		_ = walls.Signal(sandbox.FirstCommand, syscall.SIGTERM)
		_ = walls.Signal(sandbox.FirstCommand, syscall.SIGCONT)
		time.Sleep(stopGrace)
		_ = walls.Signal(sandbox.FirstCommand, syscall.SIGKILL)
		time.Sleep(killGrace)
		if m != nil {
			m.End()
		} else if err == nil {
			_ = unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0)
		}
	}
}

// knownAgent gives what names the agent that a process outside is, "" for none.
func knownAgent(d *decide.Decision) func(supervisor.Process) string {
	return func(proc supervisor.Process) string {
		return agents.Running(proc.Name, proc.Exe, proc.Argv, d.Place.Home, d.Getenv("PATH"))
	}
}

// stopGrace is how long a command has to end after a request to end.
const stopGrace = 5 * time.Second

// stopSettle is how long after a stop one looks again.
const stopSettle = 20 * time.Millisecond

// stopWith stops the supervisor when the command has stopped, so that the shell
// outside sees it and takes its terminal back. A stop typed at the terminal
// reaches us as well, and its message is handled only after both were
// continued; so what counts is whether the command is still stopped. Where no
// terminal is ours to give back, or the clock runs, nothing would wake us.
func (s *Session) stopWith(w *sandbox.Walls, id uint64, _ syscall.Signal) {
	if id != sandbox.FirstCommand || s.Policy.Resources.Timeout > 0 || !stdio.InForeground() {
		return
	}
	time.Sleep(stopSettle)
	if w.IsStopped(id) {
		_ = unix.Kill(os.Getpid(), syscall.SIGSTOP)
	}
}

// signalled is the command of a run, for signals that come from outside.
type signalled struct{ *raised }

// Signal implements [stdio.Target].
func (s signalled) Signal(sig syscall.Signal) { _ = s.walls.Signal(sandbox.FirstCommand, sig) }

// Interrupt implements [stdio.Target].
func (s signalled) Interrupt() { s.interrupt() }

// LetEnd implements [stdio.Target].
func (s signalled) LetEnd() { s.letEnd() }
