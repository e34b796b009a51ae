package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"carrel/internal/api"
	"carrel/internal/auditor"
	"carrel/internal/decide"
	"carrel/internal/named"
	"carrel/internal/policy"
	"carrel/internal/processes"
	"carrel/internal/sandbox"
	"carrel/internal/spool"
	"carrel/internal/statedir"
	"carrel/internal/supervisor"

	"golang.org/x/sys/unix"
)

// desk is a workspace that stays: one set of walls, one broker, one network, and apps
// that come and go in it. It ends when it is asked to, and with its supervisor.
type desk struct {
	p      *Session
	req    DeskRequest
	place  *named.Place
	result *api.Result
	up     *raised
	server *supervisor.Server
	events *spool.Lines
	digest string
	policy []api.Decided

	owner    *os.File      // the process with which it ends; nil for none
	over     chan struct{} // closed when it has to end
	overOnce sync.Once
	ready    chan struct{} // closed when apps may be started

	yields sync.Mutex // held while the history is let go of
	mu     sync.Mutex
	apps   []*app // in the order of their starts; of those that have ended, the newest
	labels uint64
	left   processes.Counts
	inside *processes.Namespace
	rests  *time.Timer // lets memory go when no app has ended for long
	files  fileHelpers
	wrote  time.Time      // the manifest
	again  bool           // it is to be written again soon
	busy   sync.WaitGroup // of apps that are being told about
}

// Ready is what a workspace says when it stands.
type Ready struct {
	Status        api.WorkspaceStatus `json:"status"`
	Announcements []string            `json:"announcements,omitempty"`
	Notes         []string            `json:"notes,omitempty"`
	Interrupted   []uint64            `json:"interrupted,omitempty"` // steps of earlier runs, which were closed as they were found
	Failed        *api.App            `json:"failed,omitempty"`      // the command of the profile's setup that went wrong
}

// Serve makes a workspace that stays and answers for it until it is stopped. Its starter
// is told when it stands and what the profile starts has been started; one that goes
// before has interrupted it. Standard descriptors are not used.
func (s *Session) Serve(req DeskRequest, tell *Reporter) (*api.Result, error) {
	r := &api.Result{Workspace: newID(), Started: time.Now(), Exit: api.ExitOurs, Engine: string(s.Engine()), History: string(s.Policy.History), Denials: []api.Denial{}}
	defer func() { s.early.Abandon() }()
	debug.SetGCPercent(100) // it stays: memory counts more than a collection
	d := &desk{p: s, req: req, result: r, over: make(chan struct{}), ready: make(chan struct{})}
	err := decide.MayStay(s.Decision)
	if err != nil {
		return r, err
	}
	if s.State, err = statedir.Open(statedir.Path(s.Getenv)); err != nil {
		return r, err
	}
	defer holdKept(s)()
	if err := errors.Join(startsHere(s), showsOwn(s, req.Owner)); err != nil {
		return r, err
	}
	if d.place, err = named.Take(s.State.Root(), req.Name); err != nil {
		return r, err
	}
	defer d.place.Close()
	if err := belongs(d.place, r.Workspace, req); err != nil {
		return r, err
	}
	defer leaveNothing(d.place, s.State.Root(), req)
	if err := d.place.OwnLog(); err != nil {
		return r, err
	}
	d.place.SweepLogs()
	if s.Audit, err = auditor.Open(d.place, s.AuditOptions(r.Workspace, d.notKept)); err != nil {
		return r, err
	}
	defer s.Audit.Close()
	if s.Engine() == sandbox.EngineLandlock || s.Plain {
		return r, &api.Denial{Code: api.CodeUnsupported, Operation: "start", Subject: string(s.Engine()), Rule: "engine", Source: "built in",
			Message: "a workspace that stays needs namespaces: without them nothing would hold its processes together",
			Hint:    "`carrel run` works with it; `carrel doctor` says what namespaces need here"}
	}
	defer func() { s.desktop.Close() }()
	defer func() { s.Keyring.Close() }()
	defer s.Home.End() // also of one that did not start
	if err := s.makePlan(); err != nil {
		return r, err
	}
	s.desktop.Begin()
	d.digest, d.policy = s.Digest(), s.Decided()
	s.Hear(d.denied)
	s.Plan.Command.Argv = nil
	return r, d.serve(tell)
}

// serve builds, waits for the end, and takes everything down.
func (d *desk) serve(tell *Reporter) error {
	p, r := d.p, d.result
	group, err := p.limitGroup(r.Workspace)
	if err != nil {
		return err
	}
	defer p.dropGroup(group)
	defer d.stopOnSignals()()
	endsWithout, err := d.endWithOwner()
	if err != nil {
		return err
	}
	defer endsWithout()
	if limit := p.Policy.Resources.Timeout; limit > 0 {
		defer time.AfterFunc(limit, d.timeOver).Stop()
	}
	before := p.sensitiveNow()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	d.up, err = p.raise(r.Workspace, [3]*os.File{null, null, null}, group, func() {})
	defer d.up.close()
	if err != nil {
		p.endBroker(d.up.broker, r)
		_, err = p.whyNotStarted("", err)
		return err
	}
	d.inside, d.up.walls.Procfs = processes.NewNamespace(d.up.walls.PID(), d.up.walls.Procfs), nil
	defer d.inside.Close()
	_ = decide.KeepLooked(p.Decision)
	p.Home.Watch()
	if err := d.answer(group); err != nil {
		d.up.walls.Kill()
		p.endBroker(d.up.broker, r)
		return err
	}
	err = d.keep(api.StateRunning) // what cannot be written down at its start is not started
	if err != nil {
		d.server.Close()
		d.up.walls.Kill()
		p.endBroker(d.up.broker, r)
		return err
	}
	p.Audit.Begins(d.req.Name, p.AuditOptions(r.Workspace, nil).Of, d.server.Manifest(), p.Ceilings())
	close(d.ready)
	defer tell.Gone(d.server.Stop)()
	said := d.prepareApps(tell)
	said.Announcements, said.Notes = p.Announcements(), p.Noted()
	said.Status, said.Interrupted = *d.server.Status(), p.interrupted
	if err := tell.Ready(said); err != nil || said.Failed != nil { // an error: the caller was interrupted
		d.server.Stop()
		d.stop()
	}
	go sweepPassed(p.State.Root())
	select {
	case <-d.over:
	case <-d.up.walls.Done():
		p.Note("the workspace ended by itself: its first process is gone")
	}
	d.end()
	p.endBroker(d.up.broker, r)
	p.Home.End()
	r.Born = p.bornInside(before)
	r.Exit = 0
	p.conclude(r)
	d.last()
	return nil
}

// answer begins to answer for it, outside and inside.
func (d *desk) answer(group *sandbox.Cgroup) error {
	p, up := d.p, d.up
	d.files.walls = up.walls
	p.AddNotes(up.walls.Notes...)
	d.rests = sandbox.ForgetStartLater()
	hidden := p.watchMasks(up.walls, up.broker)
	d.busy.Go(func() {
		<-d.over
		p.AddNotes(hidden.Close()...)
	})
	var err error
	if d.events, err = d.place.OpenEvents(); err != nil {
		return fmt.Errorf("opening the log of events: %w", err)
	}
	freezer, err := supervisor.NewFreezer(up.walls.PID(), group.Dirs())
	if err != nil {
		p.Note("this workspace cannot be paused: %v", err)
	}
	if err == nil {
		up.still.add(freezer, nil)
		freezer = up.still
	}
	control := d.place.Control()
	tell := p.notifier(d.req.Name)
	d.busy.Go(func() {
		<-d.over
		tell.Close()
	})
	p.desktop.SetMode(control.Mode)
	d.server, err = supervisor.Serve(supervisor.Config{
		ID: d.result.Workspace, Name: d.req.Name, Project: p.Place.Project, Argv: p.Request.Argv, Persona: string(p.Policy.Persona), Backend: p.BackendTold(), Started: d.result.Started,
		Dirs: decide.SupervisorDirs(p.Getenv), Freezer: freezer, Agent: p.knownAgent, Stop: d.stop,
		Published: p.PublishedPorts(), Hosts: up.hosts(),
		Desk: d, Control: control, Keep: d.place.KeepControl, Controlled: p.desktop.SetMode, Watch: p.desktop.Watch(),
		Clipboard: p.clipboard.Carry,
		Ceiling:   p.CeilingTold(), Expiry: p.Expiry(), Held: p.CeilingRefuses, Denied: d.denied, ProjectPaused: pauseOf(p),
		Audit: p.Audit.Add, Refuse: p.Audit.Refuse, Waits: tell.Tell, Looks: onlyReads, Owner: d.owned, Kill: d.killNow,
		Record: d.record, First: d.events.Last(), Past: d.past,
	})
	if err != nil {
		return fmt.Errorf("a workspace that nobody can reach is not started: %w", err)
	}
	up.network.AnswersTo(d.server)
	p.clipboard.AnswersTo(d.server)
	p.Keyring.Attach(d.server)
	p.desktop.Attach(up.walls, d.server)
	if p.NoWalls() {
		d.server.Emit(api.Event{Kind: api.EventNote, Text: p.OpenAnnouncement()})
	}
	if p.NoDisplay != "" {
		d.server.Emit(api.Event{Kind: api.EventNote, Text: p.NoDisplaySaid()})
	}
	if up.broker != nil {
		d.server.SetGate(up.still.hold)
		up.broker.keeper.AnswersTo(d.server)
		up.broker.judge.Tell(p.tellsListed(d.server, d.result.Workspace))
		if up.broker.keeper != nil {
			d.busy.Go(d.keepLimits)
		}
	}
	inner := &insideServer{walls: up.walls, callbacksTo: p.Callbacks(), openerLed: p.OpenerLed, record: p.recorder(d.result), mark: up.broker.mark, desk: d, clipboard: p.clipboard, keyring: p.Keyring, expired: d.server.Expired}
	inner.opener, inner.openEnv = p.Opener()
	inner.virtual = p.virtualCommands(d.req.Name, d.result, inner.record, d.server)
	if err := serveInside(up.walls.TakeAPI(), inner); err != nil {
		return err
	}
	up.host.answersTo(d.server, inner)
	d.busy.Go(func() {
		<-d.over
		<-up.walls.Done()
		inner.close()
	})
	return nil
}

// stop has the workspace end; it may be called more than once.
func (d *desk) stop() { d.overOnce.Do(func() { close(d.over) }) }

// timeOver ends it when the time is over that it was given.
func (d *desk) timeOver() {
	limit := d.p.Policy.Resources.Timeout
	d.p.Deny(api.Denial{Code: api.CodeTimeout, Operation: "limit", Subject: d.req.Name, Message: fmt.Sprintf("the workspace was ended after %s", limit),
		Rule: "timeout", Source: d.p.Reason(policy.DimTimeout).Source.String(), Hint: "--timeout takes a longer time, 0 for none"})
	d.server.Stop()
	d.stop()
}

// endWithOwner ends the workspace when the process does that it belongs to, however that
// ends. The process is held by a descriptor: its number may become another's.
func (d *desk) endWithOwner() (func(), error) {
	if d.req.Owner == 0 {
		return func() {}, nil
	}
	fd, err := unix.PidfdOpen(d.req.Owner, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("process %d, with which the workspace is to end: %w", d.req.Owner, err)
	}
	f := os.NewFile(uintptr(fd), "owner")
	d.owner = f
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, err
	}
	go func() {
		ended := false
		_ = raw.Read(func(fd uintptr) bool {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			ended = n > 0 && err == nil
			return ended || err != nil && err != unix.EINTR
		})
		if ended {
			if d.server != nil {
				d.server.Stop() // thaws what is frozen, too
			}
			d.stop()
		}
	}()
	return func() { f.Close() }, nil
}

// owned says whether a process is the one with which the workspace ends.
func (d *desk) owned(pid int) bool {
	if d.owner == nil || pid != d.req.Owner {
		return false
	}
	raw, err := d.owner.SyscallConn()
	if err != nil {
		return false
	}
	alive := false
	err = raw.Control(func(fd uintptr) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		alive = n == 0 && err == nil
	})
	return alive && err == nil
}

// stopOnSignals ends the workspace as soon as its supervisor is asked to end.
func (d *desk) stopOnSignals() func() {
	in := make(chan os.Signal, 4)
	signal.Notify(in, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		select {
		case <-in:
			if d.server != nil {
				d.server.Stop() // thaws what is frozen, too
			}
			d.stop()
		case <-done:
		}
	}()
	return func() { signal.Stop(in); close(done) }
}

// end asks all apps to end, makes them, and takes the walls down.
func (d *desk) end() {
	d.stop()
	d.p.desktop.WillEnd()
	d.up.host.close()
	stage := d.up.walls.PID()
	processes.Signal(processes.Labelled(stage, 0), syscall.SIGTERM)
	for _, a := range d.atTerminals() {
		processes.Signal(processes.Labelled(stage, a.label), syscall.SIGHUP)
	}
	processes.Signal(processes.Labelled(stage, 0), syscall.SIGCONT)
	for end := time.Now().Add(stopGrace); time.Now().Before(end) && len(processes.Labelled(stage, 0)) > 0; {
		time.Sleep(5 * time.Millisecond)
	}
	processes.Signal(processes.Labelled(stage, 0), syscall.SIGKILL)
	for end := time.Now().Add(killGrace); time.Now().Before(end) && d.running() > 0; {
		time.Sleep(time.Millisecond) // so that each is told how it ended
	}
	d.up.walls.Kill()
	d.up.network.Close()
	d.p.desktop.Close()
	d.p.Keyring.Close()
	d.busy.Wait()
}

// record writes an event down. The disk's trouble is no reason not to go on.
func (d *desk) record(e api.Event) {
	line, err := json.Marshal(e)
	if err == nil {
		err = d.events.Append(e.Seq, line)
	}
	if err != nil && d.p.State != nil {
		fmt.Fprintf(os.Stderr, "writing event %d down: %v\n", e.Seq, err)
	}
}

// notKept tells that something is missing in what is written down.
func (d *desk) notKept(err error) {
	fmt.Fprintf(os.Stderr, "%v\n", err)
	if d.server != nil {
		d.server.Emit(api.Event{Kind: api.EventCouldNotKeep, Text: err.Error()})
	}
}

// past reads events that were written down.
func (d *desk) past(since uint64, each func(api.Event) error) error {
	return d.place.Events(since, each)
}

// denied tells of a refusal while the workspace runs: it may run for days.
func (d *desk) denied(n api.Denial) {
	n.Time, n.Workspace, n.Project = time.Now(), d.result.Workspace, d.p.Place.Project
	d.p.Audit.Denial(&n)
	if d.server != nil {
		d.server.Emit(api.Event{Kind: api.EventDenial, Denial: &n})
	}
	if err := d.p.State.LogDenial(n); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n", err)
	}
}

// Describe implements [supervisor.Desk].
func (d *desk) Describe(s *api.WorkspaceStatus) {
	s.Purpose, s.Digest, s.Policy, s.Profile = d.req.Purpose, d.digest, d.policy, d.p.Request.Profile
	s.Apps = d.running()
}

// manifest is what is written down of the workspace.
func (d *desk) manifest(state string) api.Desk {
	s := d.server.Status()
	m := api.Desk{Purpose: d.req.Purpose, Profile: s.Profile, Ceiling: s.Ceiling, State: state, Control: *s.Control, Policy: d.policy, Digest: d.digest, Pending: s.Pending, Events: s.Events,
		Apps: d.list(false), Listed: d.result.Listed, Born: d.result.Born, Notes: d.result.Notes}
	m.Manifest, m.Runtime = d.server.Manifest(), d.server.Dir()
	return m
}

// How often the manifest is written at most, while apps come and go, and how long after
// the first change at least: a short command is over by then, and did not wait for a disk.
const (
	manifestEvery = 200 * time.Millisecond
	manifestAfter = 50 * time.Millisecond
)

// changed has the manifest written soon.
func (d *desk) changed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.again {
		return
	}
	d.again = true
	time.AfterFunc(max(manifestAfter, manifestEvery-time.Since(d.wrote)), d.write)
}

func (d *desk) write() {
	d.mu.Lock()
	d.again, d.wrote = false, time.Now()
	d.mu.Unlock()
	select {
	case <-d.over:
		return // the last one is written at the end
	default:
	}
	_ = d.keep(api.StateRunning)
}

func (d *desk) keep(state string) error {
	m := d.manifest(state)
	if state == api.StateStopped {
		m.Stopped = time.Now()
	}
	err := d.place.KeepManifest(&m, state == api.StateStopped)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%v\n", err)
	}
	return err
}

// last writes down how it ended, and lets go of the name.
func (d *desk) last() {
	d.server.Close()
	d.p.Audit.Own(api.AuditWorkspace, "stop", d.req.Name, "")
	_ = d.keep(api.StateStopped)
	_ = errors.Join(d.events.Close())
}
