package workspace

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"carrel/internal/advice"
	"carrel/internal/api"
	"carrel/internal/guard"
	"carrel/internal/hostfacts"
	"carrel/internal/network"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/protectednames"
	"carrel/internal/remask"
	"carrel/internal/sandbox"
	"carrel/internal/statedir"
	"carrel/internal/stdio"
	"carrel/internal/supervisor"

	"golang.org/x/sys/unix"
)

// selfExe is the running program, whatever its path says by now.
const selfExe = "/proc/self/exe"

// PrepareStart is Prepare for a run that follows at once: the stage starts
// while the policy is being decided.
func PrepareStart(req Request) (*Prepared, error) {
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
		if b := req.Flags.Backend; b != nil && b.V == policy.BackendNone {
			started <- sandbox.StartOpenStage(hostfacts.StageProgram())
			return
		}
		started <- sandbox.StartStage(hostfacts.StageProgram(), asked == nil || asked.V != policy.NetOpen)
	}()
	p, err := Prepare(req)
	early := <-started
	if err == nil {
		if err = p.chooseEngine(early.Refused()); err == nil {
			err = p.hostHeld()
		}
	}
	if err != nil {
		early.Abandon()
		return nil, err
	}
	p.early = early
	return p, nil
}

// Start builds the walls, runs the command in them, waits for its end, and
// takes everything down. The process's standard descriptors are the command's.
// The Result is complete also when an error is returned.
func (p *Prepared) Start() (*api.Result, error) {
	r := &api.Result{Workspace: newID(), Started: time.Now(), Exit: api.ExitOurs, Engine: string(p.Engine()), History: string(p.Policy.History), Denials: []api.Denial{}}
	defer p.conclude(r)
	defer func() { p.early.Abandon() }()
	var err error
	if p.state, err = statedir.Open(statedir.Path(p.getenv)); err != nil {
		p.note("nothing is logged or kept: %v", err)
	}
	defer func() { p.desktop.Close() }()
	defer func() { p.keyring.Close() }()
	if p.lends() {
		if p.relay, err = stdio.OpenRelay(); err != nil {
			return r, err
		}
		defer func() { p.relay.Close() }()
	}
	if err := p.makePlan(); err != nil {
		return r, err
	}
	if p.relay != nil {
		p.Plan.Command.Session, p.Plan.Command.Terminal = true, true
		p.relay.Gesture = p.clipboard.Gesture
	}
	if p.engine.name == sandbox.EngineLandlock {
		drop, err := p.privateDir()
		if err != nil {
			return r, err
		}
		defer drop()
	}
	io, err := stdio.New(p.relay.Streams(), false)
	if err != nil {
		return r, err
	}
	group, err := p.limitGroup(r.Workspace)
	if err != nil {
		io.Abandon()
		return r, err
	}
	defer p.dropGroup(group)
	defer stdio.KeepTerminals()()
	before := p.sensitiveNow()
	defer func() { r.Born = p.bornInside(before) }()
	signals := stdio.HoldSignals()
	defer signals.Stop()
	up, err := p.raise(r.Workspace, io.Files, group, signals.Starting)
	defer up.close()
	if err != nil {
		p.endBroker(up.broker, r)
		io.Abandon()
		return p.notStarted(r, p.req.Argv[0], err)
	}
	p.home.Watch()
	signals.Forward(signalled{up}, stopGrace) // at once: the command may already have been sent some
	io.Started()
	if err := p.relay.Start(up.interrupt); err != nil {
		p.note("%v", err)
	}
	err = p.supervise(up, group, r)
	p.endBroker(up.broker, r)
	p.home.End()
	lost := io.Finish()
	if lost != nil && r.Exit == 0 {
		r.Exit = api.ExitOurs // the command may have ended before its output could not be written
	}
	return r, errors.Join(err, lost)
}

// makePlan makes the plan, and says why it cannot be held.
func (p *Prepared) makePlan() (err error) {
	if p.history() {
		if p.historyAt, err = p.historyDir(true); err != nil {
			return err
		}
	}
	if err := p.openDesktop(); err != nil {
		return err
	}
	p.clipboard = p.newClipboard()
	p.keyring.Announce()
	if err := p.Compile(true); err != nil {
		return err
	}
	if err := p.engineHolds(); err != nil {
		return err
	}
	return p.strictlyHeld()
}

// raised are walls that stand, with what works for them outside.
type raised struct {
	walls   *sandbox.Walls
	network *network.Network
	broker  *brokered // nil without history
	hands   *hands
	host    *hostService // nil where nobody asks for host commands
	still   *stillness
	desk    atomic.Pointer[supervisor.Server] // nil before it answers
}

// interrupt refuses what a person is asked about: a signal is on its way to the command.
func (u *raised) interrupt() {
	if u.broker != nil && u.broker.keeper != nil {
		go u.broker.keeper.Interrupt(u.walls.Flush)
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
}

// raise puts the walls up. starting is called once they stand, just before there is a
// command. What it gives has to be closed also with an error.
func (p *Prepared) raise(id string, files [3]*os.File, group *sandbox.Cgroup, starting func()) (u *raised, err error) {
	u = &raised{still: new(stillness)}
	if u.network, err = p.openConnections(id); err != nil {
		return u, err
	}
	standing := func(walls *sandbox.Walls) (err error) {
		starting()
		if err := u.network.Start(walls, p.Plan); err != nil {
			return err
		}
		if p.engine.name == sandbox.EngineLandlock && len(p.Plan.Roots) == 0 {
			u.hands.close() // of a start that is tried again
			u.hands, err = startHands(walls)
			return err
		}
		if len(p.Plan.Roots) > 0 { // the command's own start may be a trapped call
			u.broker, err = p.startBroker(walls, id)
		}
		u.still.add(nil, u.broker)
		if err == nil && p.servesHost() {
			u.walls = walls
			u.host.close() // of a start that is tried again
			u.host = p.serveHost(u, id)
		}
		return err
	}
	early := p.early
	p.early = nil
	u.walls, err = sandbox.Launch(p.Plan, selfExe, early, files, group, standing, p.stopWith)
	for range maxRestarts {
		if !goneMeanwhile(err) || p.lookAgain() != nil {
			break
		}
		u.walls, err = sandbox.Launch(p.Plan, selfExe, nil, files, group, standing, p.stopWith)
	}
	return u, err
}

// maxRestarts bounds how often a start is tried again because what it was about
// to mask has been renamed or removed since it was found.
const maxRestarts = 5

func goneMeanwhile(err error) bool {
	var s *sandbox.SetupError
	return errors.As(err, &s) && (s.Code == int(syscall.ENOENT) || s.Code == int(syscall.ENOTDIR))
}

// lookAgain finds anew what globs match and makes a new plan.
func (p *Prepared) lookAgain() error {
	p.facts.ForgetBelow(p.place.Project)
	p.guardNames()
	if err := p.expandGlobs(); err != nil {
		return err
	}
	return p.Compile(true)
}

// supervise waits for the command while links, signals and the clock are
// answered. When it returns nothing inside is alive.
func (p *Prepared) supervise(up *raised, group *sandbox.Cgroup, r *api.Result) error {
	walls, b, n := up.walls, up.broker, up.network
	p.addNotes(walls.Notes...)
	sandbox.ForgetStartCodeLater()
	var hidden *remask.Watch
	if p.engine.name != sandbox.EngineLandlock { // which has none
		hidden = p.watchMasks(walls, b)
	}
	defer func() { p.addNotes(hidden.Close()...) }()
	desk := p.answerOutside(up, group.Dirs(), r)
	defer desk.Close()
	up.desk.Store(desk)
	n.AnswersTo(desk)
	p.clipboard.AnswersTo(desk)
	p.keyring.Attach(desk)
	p.desktop.Attach(walls, desk)
	if b != nil {
		desk.SetGate(up.still.hold)
		b.keeper.AnswersTo(desk)
		b.judge.Tell(p.tellsListed(desk, r.Workspace))
	}
	ctx, cancel := p.deadline()
	defer cancel()
	timedOut := context.AfterFunc(ctx, func() { p.endByClock(up) })
	server := &insideServer{walls: walls, callbacksTo: p.callbacks(), openerLed: p.openerLed, record: p.recorder(r), mark: b.mark, clipboard: p.clipboard, keyring: p.keyring, expired: desk.Expired}
	server.opener, server.openEnv = p.opener()
	server.virtual = p.virtualCommands(filepath.Base(p.place.Project), r, server.record, desk)
	server.virtual.bell = terminalBell()
	if err := serveInside(walls.TakeAPI(), server); err != nil {
		walls.Kill()
		return err
	}
	up.host.answersTo(desk, server)
	exit, err := walls.Wait(sandbox.FirstCommand)
	desk.Close() // before the stage is gone: it thaws what is frozen
	expired := !timedOut()
	up.host.close()
	walls.Close()
	n.Close()
	p.desktop.Close()
	p.keyring.Close()
	server.close()
	if err != nil {
		return fmt.Errorf("waiting for the command: %w", err)
	}
	p.ended(r, exit, expired && p.Policy.Resources.Timeout > 0)
	return nil
}

func (p *Prepared) deadline() (context.Context, context.CancelFunc) {
	if limit := p.Policy.Resources.Timeout; limit > 0 {
		return context.WithTimeout(context.Background(), limit)
	}
	return context.WithCancel(context.Background())
}

// endByClock asks the command to end, and after the grace makes it.
func (p *Prepared) endByClock(up *raised) {
	_ = up.walls.Signal(sandbox.FirstCommand, syscall.SIGTERM)
	_ = up.walls.Signal(sandbox.FirstCommand, syscall.SIGCONT)
	up.letEnd()
	time.AfterFunc(stopGrace, func() { _ = up.walls.Signal(sandbox.FirstCommand, syscall.SIGKILL) })
}

func (p *Prepared) ended(r *api.Result, e sandbox.Exit, timedOut bool) {
	r.Exit = e.Code
	if e.Signal != 0 {
		r.Signal = unix.SignalName(syscall.Signal(e.Signal))
		r.Exit = 128 + e.Signal
	}
	if timedOut {
		r.Exit, r.Signal = api.ExitTimeout, ""
		p.deny(api.Denial{Code: api.CodeTimeout, Operation: "limit", Subject: p.req.Argv[0],
			Message: fmt.Sprintf("the command was ended after %s", p.Policy.Resources.Timeout),
			Rule:    "timeout", Source: p.reason(policy.DimTimeout).Source.String(), Hint: "--timeout takes a longer time, 0 for none"})
	}
}

// recorder keeps what the inside API reports. It may be called concurrently.
func (p *Prepared) recorder(r *api.Result) func(api.Link, *api.Denial) {
	var mu sync.Mutex
	refused := 0
	return func(l api.Link, d *api.Denial) {
		mu.Lock()
		defer mu.Unlock()
		if d != nil {
			if refused++; refused <= maxDenials {
				d.Subject = d.Subject[:min(len(d.Subject), maxSubject)]
				p.deny(*d)
			}
			return
		}
		l.Time = time.Now()
		r.Links = append(r.Links, l)
		if p.state != nil {
			if err := p.state.LogLink(l); err != nil {
				p.note("%v", err)
			}
		}
	}
}

// conclude completes the result and writes the denials down.
func (p *Prepared) conclude(r *api.Result) {
	r.Duration = time.Since(r.Started)
	for _, d := range p.refused() {
		d.Time, d.Workspace, d.Project = time.Now(), r.Workspace, p.place.Project
		r.Denials = append(r.Denials, d)
		if p.state != nil {
			if err := p.state.LogDenial(d); err != nil {
				p.note("%v", err)
				break
			}
		}
	}
	r.Notes = p.noted()
	r.Hidden = p.hiddenSecrets()
}

// hiddenSecrets names the files of the project that are hidden as secrets, as a person
// there calls them.
func (p *Prepared) hiddenSecrets() (names []string) {
	add := func(at string) {
		if rel, ok := strings.CutPrefix(at, p.place.Project+"/"); ok && len(names) < guard.MaxListed {
			names = append(names, rel)
		}
	}
	for i := range p.Policy.Rules {
		if r := &p.Policy.Rules[i]; r.Access == policy.Deny && r.Path != "" && r.Source.Layer == policy.LayerDefault && p.Policy.Lookup(r.Path).Access == policy.Deny {
			add(r.Path)
		}
	}
	for _, at := range p.hiddenSince {
		if p.Policy.Lookup(at).Access == policy.Deny {
			add(at)
		}
	}
	for _, at := range p.passwords() {
		add(at)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Changes looks for what the run left in the project.
func (p *Prepared) Changes(r *api.Result) Changed { return changedSince(p.place.Project, r.Started) }

// sensitiveNow are the names to compare at the end: protected ones, and denied
// names of the project, which may be links to what they hide.
func (p *Prepared) sensitiveNow() map[string]string {
	if p.asIs() {
		return nil // nobody's names but the policy's
	}
	paths, own := protectednames.Sensitive(&p.place, p.history()), p.ownDirs() // these are made and removed by ourselves
	for _, t := range p.guarded.Named {
		if t.Path != "" {
			paths = append(paths, t.Path)
		}
	}
	for _, r := range p.Policy.Rules {
		if r.Access == policy.Deny && r.Path != "" && pathname.Within(r.Path, p.place.Project) && !slices.Contains(own, r.Path) {
			paths = append(paths, r.Path)
		}
	}
	return protectednames.Present(paths)
}

// bornInside lists sensitive names that a run has created, turned into something else,
// or removed although they were to stay: mounts can protect only what exists, and no link.
func (p *Prepared) bornInside(before map[string]string) []string {
	var born []string
	after := p.sensitiveNow()
	for path, kind := range after {
		if was, there := before[path]; was != kind && (there || p.expected == nil || !p.expected(path)) {
			born = append(born, path)
		}
	}
	for path := range before {
		if _, still := after[path]; !still && (p.removable == nil || !p.removable(path)) {
			born = append(born, path)
		}
	}
	for i := range born {
		born[i] = strings.TrimPrefix(born[i], p.place.Project+"/")
	}
	slices.Sort(born)
	return born
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
