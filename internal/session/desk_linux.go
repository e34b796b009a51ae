package session

import (
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
	"carrel/internal/sandbox"
	"carrel/internal/statedir"
	"carrel/internal/supervisor"
	"carrel/internal/taskhost"
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
	digest string
	policy []api.Decided
	owner  *owner
	lifetime
	ready chan struct{} // closed when apps may be started

	apps    appTable
	records deskRecords
	history deskHistory
}

// lifetime is how long a workspace stands: until it is asked to end, and what is busy has
// come to its end.
type lifetime struct {
	over chan struct{} // closed when it has to end
	once sync.Once
	busy sync.WaitGroup
}

// stop has the workspace end; it may be called more than once.
func (l *lifetime) stop() { l.once.Do(func() { close(l.over) }) }

func (l *lifetime) ending() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
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
	d := &desk{p: s, req: req, result: r, lifetime: lifetime{over: make(chan struct{})}, ready: make(chan struct{})}
	var err error
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
	group, err := limitGroup(p.Decision, r.Workspace)
	if err != nil {
		return err
	}
	defer dropGroup(p.Decision, group)
	defer d.stopOnSignals()()
	if d.owner, err = holdOwner(d.req.Owner, d.stopFrozen); err != nil {
		return err
	}
	defer d.owner.close()
	if limit := p.Policy.Resources.Timeout; limit > 0 {
		defer time.AfterFunc(limit, d.timeOver).Stop()
	}
	before := sensitiveNow(p.Decision)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	d.up, err = p.raise(r.Workspace, [3]*os.File{null, null, null}, group, func() {})
	defer d.up.close()
	if err != nil {
		p.endBroker(d.up.broker, r)
		_, err = whyNotStarted(p.Decision, "", err)
		return err
	}
	defer d.up.takeMembers()()
	_ = decide.KeepLooked(p.Decision)
	p.Home.Watch()
	if err := d.answer(group); err != nil {
		p.takeDown(d.up, d.up.walls.Kill, r)
		return err
	}
	err = d.records.keep(api.StateRunning) // what cannot be written down at its start is not started
	if err != nil {
		d.server.Close()
		p.takeDown(d.up, d.up.walls.Kill, r)
		return err
	}
	p.Audit.Begins(d.req.Name, p.AuditOptions(r.Workspace, nil).Of, d.server.Manifest(), p.Ceilings())
	close(d.ready)
	defer tell.Gone(d.server.Stop)()
	said := d.apps.prepareApps(tell)
	said.Announcements, said.Notes = p.Announcements(), p.Noted()
	said.Status, said.Interrupted = *d.server.Status(), p.interrupted
	if err := tell.Ready(said); err != nil || said.Failed != nil { // an error: the caller was interrupted
		d.stopFrozen()
	}
	go sweepPassed(p.State.Root())
	select {
	case <-d.over:
	case <-d.up.walls.Done():
		p.Note("the workspace ended by itself: its first process is gone")
	}
	d.stop()
	p.desktop.WillEnd()
	p.takeDown(d.up, d.endApps, r)
	r.Born = p.made.born(p.Decision, before)
	r.Exit = 0
	p.conclude(r)
	d.last()
	return nil
}

// answer begins to answer for it, outside and inside.
func (d *desk) answer(group *sandbox.Cgroup) error {
	p, up := d.p, d.up
	p.AddNotes(up.walls.Notes...)
	up.watchMasks(p.Decision)
	events, err := d.place.OpenEvents()
	if err != nil {
		return fmt.Errorf("opening the log of events: %w", err)
	}
	recorder := up.broker.steps()
	records := &d.records
	records.place, records.events, records.manifest, records.lifetime = d.place, events, d.manifest, &d.lifetime
	apps := &d.apps
	apps.decided, apps.name, apps.place, apps.walls, apps.recorder, apps.changed = p.Decision, d.req.Name, d.place, up.walls, recorder, records.changed
	apps.inside, apps.rests, apps.files.walls, apps.lifetime = up.members, sandbox.ForgetStartLater(), up.walls, &d.lifetime
	d.history.name, d.history.recorder, d.history.lifetime = d.req.Name, recorder, &d.lifetime
	freezer, err := up.freezer(group.Dirs())
	if err != nil {
		p.Note("this workspace cannot be paused: %v", err)
	}
	control := d.place.Control()
	tell := p.notifier(d.req.Name)
	d.busy.Go(func() {
		<-d.over
		tell.Close()
	})
	stands := tell.Stands
	if !d.req.Notify {
		stands = nil
	}
	p.desktop.SetMode(control.Mode)
	d.server, err = supervisor.Serve(supervisor.Config{
		ID: d.result.Workspace, Name: d.req.Name, Project: p.Place.Project, Argv: p.Request.Argv, Persona: string(p.Policy.Persona),
		Backend: string(p.Policy.Backend), Isolation: string(p.Policy.Backend.Isolation()), Started: d.result.Started,
		Dirs: statedir.Registry(p.Getenv), Freezer: freezer, Agent: knownAgent(p.Decision), Stop: d.stop,
		Published: p.PublishedPorts(), Hosts: up.hosts(),
		Desk: d, Control: control, Keep: d.place.KeepControl, Controlled: p.desktop.SetMode, Watch: p.desktop.Watch(),
		Clipboard: p.clipboard.Carry,
		Ceiling:   p.CeilingNotice(), Expiry: p.Expiry(), Held: p.CeilingRefuses, Denied: d.denied, ProjectPaused: pauseOf(p),
		Audit: p.Audit.Add, Refuse: p.Audit.Refuse, Waits: tell.Tell, AgentStands: stands, Looks: onlyReads, Owner: d.owner.is, Kill: d.apps.killNow,
		Record: d.records.record, First: events.Last(), Past: d.records.past,
	})
	if err != nil {
		return fmt.Errorf("a workspace that nobody can reach is not started: %w", err)
	}
	d.apps.server, d.history.server = d.server, d.server
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
		recorder.AnswersTo(d.server)
		up.broker.judge.Tell(tellsListed(p.Decision, d.server, d.result.Workspace))
		if recorder != nil {
			d.busy.Go(d.history.keepLimits)
		}
	}
	up.inside = &insideServer{callback: callbackOf(p, up), openerWritable: p.OpenerWritable, record: p.recorder(d.result), mark: up.broker.mark, server: d.server, desk: d, tasks: taskhost.New(d.req.Tasks), clipboard: p.clipboard, keyring: p.Keyring, expired: d.server.Expired}
	up.inside.opener, up.inside.openEnv = p.Opener()
	up.inside.virtual = virtualCommands(p.Decision, d.req.Name, d.result, up.inside.record, d.server)
	l, err := up.insideListener()
	if err != nil {
		return err
	}
	serveInside(l, up.inside)
	up.host.answersTo(d.server, up.inside)
	return nil
}

// stopFrozen is stop, also of what is frozen.
func (d *desk) stopFrozen() {
	if d.server != nil {
		d.server.Stop()
	}
	d.stop()
}

// timeOver ends it when the time is over that it was given.
func (d *desk) timeOver() {
	limit := d.p.Policy.Resources.Timeout
	d.p.Deny(api.Denial{Code: api.CodeTimeout, Operation: "limit", Subject: d.req.Name, Message: fmt.Sprintf("the workspace was ended after %s", limit),
		Rule: "timeout", Source: d.p.Reason(policy.DimTimeout).Source.String(), Hint: "--timeout takes a longer time, 0 for none"})
	d.stopFrozen()
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
			d.stopFrozen()
		case <-done:
		}
	}()
	return func() { signal.Stop(in); close(done) }
}

// endApps asks all apps to end, makes them, and kills the walls.
func (d *desk) endApps() {
	all := d.up.members
	all.Signal(0, syscall.SIGTERM)
	for _, a := range d.apps.atTerminals() {
		all.Signal(a.label, syscall.SIGHUP)
	}
	all.Signal(0, syscall.SIGCONT)
	for end := time.Now().Add(stopGrace); time.Now().Before(end) && all.Count(0) > 0; {
		time.Sleep(5 * time.Millisecond)
	}
	all.Signal(0, syscall.SIGKILL)
	for end := time.Now().Add(killGrace); time.Now().Before(end) && d.apps.running() > 0; {
		time.Sleep(time.Millisecond) // so that each is told how it ended
	}
	d.up.walls.Kill()
	d.busy.Wait()
}

// notKept tells that something is missing in what is written down.
func (d *desk) notKept(err error) {
	fmt.Fprintf(os.Stderr, "%v\n", err)
	if d.server != nil {
		d.server.Emit(api.Event{Kind: api.EventCouldNotKeep, Text: err.Error()})
	}
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
	s.Apps = d.apps.running()
}

// manifest is what is written down of the workspace.
func (d *desk) manifest(state string) api.Desk {
	s := d.server.Status()
	m := api.Desk{Purpose: d.req.Purpose, Profile: s.Profile, Ceiling: s.Ceiling, State: state, Control: *s.Control, Policy: d.policy, Digest: d.digest, Pending: s.Pending, Events: s.Events,
		Apps: d.apps.list(false), Listed: d.result.Listed, Born: d.result.Born, Notes: d.result.Notes}
	m.Manifest, m.Runtime = d.server.Manifest(), d.server.Dir()
	return m
}

// last writes down how it ended, and lets go of the name.
func (d *desk) last() {
	d.server.Close()
	d.p.Audit.Own(api.AuditWorkspace, "stop", d.req.Name, "")
	_ = d.records.keep(api.StateStopped)
	_ = d.records.events.Close()
}
