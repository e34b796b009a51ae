package session

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"carrel/internal/advice"
	"carrel/internal/api"
	"carrel/internal/decide"
	"carrel/internal/hostfacts"
	"carrel/internal/machine"
	"carrel/internal/network"
	"carrel/internal/notices"
	"carrel/internal/policy"
	"carrel/internal/processes"
	"carrel/internal/protectednames"
	"carrel/internal/remask"
	"carrel/internal/sandbox"
	"carrel/internal/statedir"
	"carrel/internal/stdio"
	"carrel/internal/supervisor"
	"carrel/internal/tty"

	"golang.org/x/sys/unix"
)

// New is [decide.Prepare] for a run that follows at once: the stage starts
// while the policy is being decided.
func New(req decide.Request) (*Session, error) {
	if err := errors.Join(closeOnExec(), roomForFiles()); err != nil {
		return nil, err
	}
	asked := req.Flags.Network
	started := make(chan *sandbox.Stage, 1)
	go func() {
		if req.Engine == string(sandbox.EngineBubblewrap) || req.Engine == string(sandbox.EngineLandlock) {
			started <- nil
			return
		}
		switch b := req.Flags.Backend; {
		case b != nil && b.V == policy.BackendNone:
			started <- sandbox.StartOpenStage(hostfacts.StageProgram())
			return
		case b != nil && slices.Contains([]policy.Backend{policy.BackendContainer, policy.BackendLima, policy.BackendGvisor, policy.BackendVM}, b.V):
			started <- nil
			return
		}
		started <- sandbox.StartStage(hostfacts.StageProgram(), asked == nil || asked.V != policy.NetOpen)
	}()
	decided, err := decide.Prepare(req)
	early := <-started
	if err == nil {
		if err = decided.ChooseEngine(early.Refused()); err == nil {
			err = decided.HostHeld()
		}
	}
	if err != nil {
		early.Abandon()
		return nil, err
	}
	return &Session{Decision: decided, Until: context.Background(), early: early}, nil
}

// Start builds the walls, runs the command in them, waits for its end, and
// takes everything down. The process's standard descriptors are the command's.
// The Result is complete also when an error is returned.
func (s *Session) Start() (*api.Result, error) {
	r := &api.Result{Workspace: newID(), Started: time.Now(), Exit: api.ExitOurs, Engine: string(s.Engine()), History: string(s.Policy.History), Denials: []api.Denial{}}
	defer func() {
		s.conclude(r)
		s.Audit.RunEnds(r)
		s.Audit.Close()
	}()
	defer func() { s.early.Abandon() }()
	var err error
	if s.State, err = statedir.Open(statedir.Path(s.Getenv)); err != nil {
		s.Note("nothing is logged or kept: %v", err)
	}
	defer holdKept(s)()
	if err := startsHere(s); err != nil {
		return r, err
	}
	if err := auditRun(s, r.Workspace); err != nil {
		return r, err
	}
	defer func() { s.desktop.Close() }()
	defer func() { s.Keyring.Close() }()
	defer s.Home.End() // also of one that did not start
	if lends(s.Decision) || s.Machine != nil {
		if s.relay, err = tty.OpenRelay(); err != nil {
			return r, err
		}
		defer func() { s.relay.Close() }()
		s.Console = s.relay.Name()
	}
	if err := s.makePlan(); err != nil {
		return r, err
	}
	if s.relay != nil {
		s.Plan.Command.Session, s.Plan.Command.Terminal = true, true
		if s.clipboard != nil {
			s.relay.Gesture = s.clipboard.Gesture
		}
	}
	if s.Engine() == sandbox.EngineLandlock {
		dir, drop, err := statedir.Private(s.State) // stands in for what is private where there are no mounts
		if err != nil {
			return r, err
		}
		s.Private, s.Plan.Private = dir, dir
		defer func() {
			if err := drop(); err != nil {
				s.Note("the private directory of the run stays behind: %v", err)
			}
		}()
	}
	io, err := stdio.New(s.relay.Streams(), s.Machine != nil && s.relay == nil)
	if err != nil {
		return r, err
	}
	group, err := limitGroup(s.Decision, r.Workspace)
	if err != nil {
		io.Abandon()
		return r, err
	}
	defer dropGroup(s.Decision, group)
	defer tty.KeepTerminals()()
	before := sensitiveNow(s.Decision)
	defer func() { r.Born = s.made.born(s.Decision, before) }()
	signals := stdio.HoldSignals()
	defer signals.Stop()
	up, err := s.raise(r.Workspace, io.Files, group, signals.Starting)
	defer up.close()
	if err != nil {
		s.endBroker(up.broker, r)
		io.Abandon()
		return notStarted(s.Decision, r, s.Request.Argv[0], err)
	}
	defer decide.KeepLooked(s.Decision)()
	s.Home.Watch()
	signals.Forward(signalled{up}, stopGrace) // at once: the command may already have been sent some
	io.Started()
	if err := s.relay.Start(up.interrupt); err != nil {
		s.Note("%v", err)
	}
	err = s.supervise(up, group, r)
	s.takeDown(up, up.walls.Close, r)
	lost := io.Finish()
	if lost != nil && r.Exit == 0 {
		r.Exit = api.ExitOurs // the command may have ended before its output could not be written
	}
	return r, errors.Join(err, lost)
}

// makePlan makes the plan, and says why it cannot be held.
func (s *Session) makePlan() (err error) {
	if s.History() {
		if s.HistoryAt, err = s.HistoryDir(true); err != nil {
			return err
		}
	}
	if s.desktop, err = openDesktop(s.Decision); err != nil {
		return err
	}
	s.clipboard = newClipboard(s.Decision, s.desktop)
	s.Keyring.Announce()
	if err := s.Compile(true); err != nil {
		return err
	}
	if len(s.Plan.Roots) > 0 && s.State == nil && s.Request.Exact == nil { // nobody has asked for changes that nothing brings back
		return &advice.Error{Err: errors.New("changes cannot be recorded, as nothing can be kept: there is no state directory"),
			Hint: "`carrel doctor` says why, and XDG_STATE_HOME names another place; `--history off` runs without undo"}
	}
	noteKept(s)
	if err := s.EngineHolds(); err != nil {
		return err
	}
	return s.StrictlyHeld()
}

// raised are walls that stand, with what works for them outside.
type raised struct {
	walls   *sandbox.Walls
	network *network.Network
	broker  *brokered // nil without history
	hands   *hands
	host    *hostService // nil where nobody asks for host commands
	still   *stillness
	inside  *insideServer                     // nil before it answers
	members processes.Members                 // of a workspace that stays
	desk    atomic.Pointer[supervisor.Server] // nil before it answers
	masks   *remask.Watch                     // nil where there is nothing to watch
	drop    func()                            // what a container or a machine needs outside
	machine *machine.Run                      // nil for walls of this machine's

	machineAPI net.Listener // of a machine: the socket that programs inside know
}

// interrupt refuses what a person is asked about: a signal is on its way to the command.
func (u *raised) interrupt() {
	if u.broker != nil && u.broker.recorder != nil {
		go u.broker.recorder.Interrupt(u.walls.Flush)
	}
}

// letEnd is interrupt for a signal that ends the workspace.
func (u *raised) letEnd() {
	u.interrupt()
	u.desk.Load().LetEnd()
}

func (u *raised) close() {
	u.host.close()
	u.network.Close()
	u.hands.close()
	u.drop()
}

// raise puts the walls up. starting is called once they stand, just before there is a
// command. What it gives has to be closed also with an error.
func (s *Session) raise(id string, files [3]*os.File, group *sandbox.Cgroup, starting func()) (u *raised, err error) {
	u = &raised{still: new(stillness)}
	if u.drop, err = openContainer(s, id); err != nil {
		return u, err
	}
	if u.network, err = openConnections(s.Decision, s.desktop, id); err != nil {
		return u, err
	}
	if s.Machine != nil {
		return u, raiseInMachine(s, u, id, files, starting)
	}
	standing := func(walls *sandbox.Walls) (err error) {
		starting()
		if err := u.network.Start(walls, s.Plan); err != nil {
			return err
		}
		if s.Engine() == sandbox.EngineLandlock && len(s.Plan.Roots) == 0 {
			u.hands.close() // of a start that is tried again
			u.hands, err = startHands(walls)
			return err
		}
		if len(s.Plan.Roots) > 0 { // the command's own start may be a trapped call
			u.broker, err = s.startBroker(walls, id)
		}
		u.still.add(nil, u.broker)
		if err == nil && s.ServesHost() {
			u.walls = walls
			u.host.close() // of a start that is tried again
			u.host = serveHost(s, u, id, u.network.HostListeners()...)
		}
		return err
	}
	early := s.early
	s.early = nil
	u.walls, err = sandbox.Launch(s.Plan, hostfacts.SelfExe, early, files, group, standing, s.stopWith)
	for range maxRestarts {
		if !goneMeanwhile(err) || s.lookAgain() != nil {
			break
		}
		u.walls, err = sandbox.Launch(s.Plan, hostfacts.SelfExe, nil, files, group, standing, s.stopWith)
	}
	return u, err
}

// maxRestarts bounds how often a start is tried again because what it was about
// to mask has been renamed or removed since it was found. Where much of the host is granted
// and its programs come and go, sockets do so several times a second.
const maxRestarts = 25

func goneMeanwhile(err error) bool {
	var s *sandbox.SetupError
	return errors.As(err, &s) && (s.Code == int(syscall.ENOENT) || s.Code == int(syscall.ENOTDIR))
}

// lookAgain finds anew what globs match and makes a new plan.
func (s *Session) lookAgain() error {
	s.Facts.ForgetBelow(s.Place.Project)
	s.GuardNames()
	if err := s.ExpandGlobs(); err != nil {
		return err
	}
	return s.Compile(true)
}

// takeDown ends what stands of walls, of a run as of a workspace that stays: each part when
// no other needs it any more. down ends what still runs inside: from then on no file is
// masked, and no change decided.
func (s *Session) takeDown(up *raised, down func(), r *api.Result) {
	up.host.close()
	down()
	s.AddNotes(up.masks.Close()...)
	up.network.Close()
	s.desktop.Close()
	s.Keyring.Close()
	up.inside.close()
	s.endBroker(up.broker, r)
	s.Home.End()
}

// supervise waits for the command while links, signals and the clock are answered.
func (s *Session) supervise(up *raised, group *sandbox.Cgroup, r *api.Result) error {
	walls, b := up.walls, up.broker
	s.AddNotes(walls.Notes...)
	sandbox.ForgetStartLater()
	if s.Engine() != sandbox.EngineLandlock { // which has none
		up.watchMasks(s.Decision)
	}
	desk := s.answerOutside(up, group.Dirs(), r)
	defer desk.Close()
	up.desk.Store(desk)
	up.network.AnswersTo(desk)
	s.clipboard.AnswersTo(desk)
	s.Keyring.Attach(desk)
	s.desktop.Attach(walls, desk)
	if b != nil {
		desk.SetGate(up.still.hold)
		b.recorder.AnswersTo(desk)
		b.judge.Tell(tellsListed(s.Decision, desk, r.Workspace))
	}
	ctx, cancel := deadline(s.Until, s.Policy.Resources.Timeout)
	defer cancel()
	timedOut := context.AfterFunc(ctx, up.endByClock)
	if err := answerInside(s, up, desk, r, b.mark); err != nil {
		walls.Kill()
		return err
	}
	exit, err := walls.Wait(sandbox.FirstCommand)
	desk.Close() // before the stage is gone: it thaws what is frozen
	expired := !timedOut()
	if err != nil {
		return fmt.Errorf("waiting for the command: %w", err)
	}
	s.ended(r, exit, expired && s.Until.Err() == nil && s.Policy.Resources.Timeout > 0)
	return nil
}

func deadline(until context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit > 0 {
		return context.WithTimeout(until, limit)
	}
	return context.WithCancel(until)
}

// endByClock asks the command to end, and after the grace makes it.
func (u *raised) endByClock() {
	_ = u.walls.Signal(sandbox.FirstCommand, syscall.SIGTERM)
	_ = u.walls.Signal(sandbox.FirstCommand, syscall.SIGCONT)
	u.letEnd()
	time.AfterFunc(stopGrace, func() { _ = u.walls.Signal(sandbox.FirstCommand, syscall.SIGKILL) })
}

func (s *Session) ended(r *api.Result, e sandbox.Exit, timedOut bool) {
	r.Exit = e.Code
	if e.Signal != 0 {
		r.Signal = unix.SignalName(syscall.Signal(e.Signal))
		r.Exit = 128 + e.Signal
	}
	if timedOut {
		r.Exit, r.Signal = api.ExitTimeout, ""
		s.Deny(api.Denial{Code: api.CodeTimeout, Operation: "limit", Subject: s.Request.Argv[0],
			Message: fmt.Sprintf("the command was ended after %s", s.Policy.Resources.Timeout),
			Rule:    "timeout", Source: s.Reason(policy.DimTimeout).Source.String(), Hint: "--timeout takes a longer time, 0 for none"})
	}
}

// recorder keeps what the inside API reports. It may be called concurrently.
func (s *Session) recorder(r *api.Result) func(api.Link, *api.Denial) {
	var mu sync.Mutex
	refused := 0
	return func(l api.Link, d *api.Denial) {
		mu.Lock()
		defer mu.Unlock()
		if d != nil {
			if refused++; refused <= notices.MaxDenials {
				d.Subject = d.Subject[:min(len(d.Subject), notices.MaxSubject)]
				s.Deny(*d)
			}
			return
		}
		l.Time = time.Now()
		r.Links = append(r.Links, l)
		if s.State != nil {
			if err := s.State.LogLink(l); err != nil {
				s.Note("%v", err)
			}
		}
	}
}

// conclude completes the result and writes the denials down.
func (s *Session) conclude(r *api.Result) {
	r.Duration = time.Since(r.Started)
	for _, d := range s.Refused() {
		d.Time, d.Workspace, d.Project = time.Now(), r.Workspace, s.Place.Project
		r.Denials = append(r.Denials, d)
		if s.State != nil {
			if err := s.State.LogDenial(d); err != nil {
				s.Note("%v", err)
				break
			}
		}
	}
	sweepGone(s)
	r.Hidden = s.made.hiddenSecrets(s.Decision)
	if d := hiddenDenial(r, s.Place.Project); d.Code != "" && s.State != nil {
		if err := s.State.LogDenial(d); err != nil {
			s.Note("%v", err)
		}
	}
	r.Notes = s.Noted()
}

// Changes looks for what the run left in the project.
func (s *Session) Changes(r *api.Result) protectednames.Changed {
	return protectednames.ChangedSince(s.Place.Project, r.Started)
}

func newID() string {
	var b [4]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// fewestFiles is what a run takes of descriptors at least, with some to answer with.
const fewestFiles = 64

// roomForFiles refuses to start what would miss a descriptor on the way, each time
// another one. The runtime has raised the limit as far as it may.
func roomForFiles() error {
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &now); err != nil || now.Cur >= fewestFiles {
		return err
	}
	return &advice.Error{Err: fmt.Errorf("the limit of open files is %d, and carrel takes %d at least", now.Cur, fewestFiles), Hint: "`ulimit -n 1024` raises it, where the hard limit allows that"}
}

// closeOnExec keeps what our caller left open from reaching the stage.
func closeOnExec() error {
	if err := unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("closing inherited descriptors: %w", err)
	}
	return nil
}
