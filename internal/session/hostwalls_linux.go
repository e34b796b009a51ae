package session

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/decide"
	"carrel/internal/hostexec"
	"carrel/internal/processes"
	"carrel/internal/sandbox"
	"carrel/internal/supervisor"
	"carrel/internal/tty"

	"golang.org/x/sys/unix"
)

// executor is a set of walls in which host commands run, one beside the other: another
// stage with namespaces of its own, a view without the agent's home, its own network with
// the workspace's rules, and a second broker that writes to the same history. It stands
// from the first call until the workspace ends.
type executor struct {
	host    *hostService
	p       *Session            // they are its host commands
	command *config.HostCommand // that has walls alone, nil for all others

	building sync.Mutex
	now      *hostWalls // nil until they stand
	over     bool

	mu     sync.Mutex
	active map[uint64]bool // the labels of calls that are under way
	next   *sweepRound     // nil where nobody waits for one to begin

	sweeping sync.Mutex
}

// hostWalls are the walls that stand; a call stays with those that it has begun in.
type hostWalls struct {
	p       *Session
	up      *raised
	stage   processes.Process // which the number alone does not mean once it has gone
	group   *sandbox.Cgroup
	freezer supervisor.Freezer
	seen    int // of the service's changes of host rules; with the executor's lock
}

// stand gives the walls, which are built unless they stand.
func (x *executor) stand() (*hostWalls, error) {
	x.building.Lock()
	defer x.building.Unlock()
	if x.over {
		return nil, errors.New("the workspace is ending")
	}
	if x.now != nil {
		select {
		case <-x.now.up.walls.Done(): // a process in them ended their init, or the system did
			x.takeDown()
		default:
			return x.now, nil
		}
	}
	w, err := x.build()
	x.now = w
	return w, err
}

func (x *executor) build() (*hostWalls, error) {
	p, h := x.p, x.host
	lent, err := p.Lend(x.command)
	if err != nil {
		return nil, err
	}
	b := &Session{Decision: lent, lentBroker: h.up.broker}
	id := h.id + "-host"
	if x.command != nil {
		id += "-" + x.command.Name
	}
	if tmp := h.copyOfTmp(); tmp >= 0 {
		defer unix.Close(tmp)
		decide.TakeTmp(lent, tmp)
	}
	w := &hostWalls{p: b}
	if w.group, err = limitGroup(b.Decision, id); err != nil {
		return nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	w.up, err = b.raise(h.id, [3]*os.File{null, null, null}, w.group, func() {})
	if err == nil && !containsAll(p.Plan.Roots, b.Plan.Roots) {
		err = fmt.Errorf("they would have other writable places than the workspace: %q, and it has %q", b.Plan.Roots, p.Plan.Roots)
	}
	if err == nil {
		var there bool
		if w.stage, there = processes.Read(w.up.walls.PID()); !there {
			err = sandbox.ErrGone
		}
	}
	if err != nil {
		if w.up.walls != nil {
			w.up.walls.Kill()
		}
		w.up.broker.giveBack(b)
		w.up.close()
		dropGroup(b.Decision, w.group)
		_, err = whyNotStarted(b.Decision, "", err)
		return nil, err
	}
	if fd := w.up.walls.TakeAPI(); fd >= 0 {
		unix.Close(fd) // programs there ask nobody for anything
	}
	p.AddNotes(w.up.walls.Notes...)
	if b.Engine() != sandbox.EngineNone {
		w.up.watchMasks(b.Decision)
	}
	if w.freezer, err = supervisor.NewFreezer(w.up.walls.PID(), w.group.Dirs()); err != nil {
		p.Note("host commands cannot be paused: %v", err)
	}
	h.up.still.add(w.freezer, w.up.broker)
	x.replay(w)
	go func() {
		select {
		case <-h.ready:
			w.up.network.AnswersTo(h.desk)
		case <-h.ctx.Done():
		}
	}()
	return w, nil
}

// copyOfTmp takes out one mount of the workspace's /tmp, -1 where there is none: walls that
// are built anew that often have a /tmp of their own.
func (h *hostService) copyOfTmp() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.up.walls == nil { // in a machine, which has a /tmp of its own
		return -1
	}
	list := h.up.walls.Copies
	if len(list) == 0 {
		return -1
	}
	h.up.walls.Copies = list[1:]
	return list[0]
}

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

// close takes the walls down.
func (x *executor) close() {
	x.building.Lock()
	defer x.building.Unlock()
	x.over = true
	if x.now != nil {
		x.takeDown()
	}
}

func (x *executor) takeDown() {
	w, p := x.now, x.p
	x.host.up.still.remove(w.freezer, w.up.broker)
	w.up.walls.Kill()
	p.AddNotes(w.up.masks.Close()...)
	w.up.broker.giveBack(w.p)
	w.up.close()
	dropGroup(w.p.Decision, w.group)
	p.AddNotes(w.p.Noted()...)
	x.now = nil
}

// giveBack ends a broker that writes to another's history; b may be nil.
func (b *brokered) giveBack(p *Session) {
	if b == nil {
		return
	}
	if err := b.close(0); err != nil {
		p.Note("%v", err)
	}
}

// catchUp takes over what was changed of the host rules.
func (x *executor) catchUp() {
	x.building.Lock()
	defer x.building.Unlock()
	if x.now != nil {
		x.replay(x.now)
	}
}

// replay does it. Who has hosts of its own gets no more by it, and less all the same.
func (x *executor) replay(w *hostWalls) {
	x.host.mu.Lock()
	all := x.host.changes[w.seen:]
	w.seen = len(x.host.changes)
	x.host.mu.Unlock()
	change := w.up.network.Hosts()
	if change == nil {
		return
	}
	for _, c := range all {
		if !c.allow || x.command == nil || x.command.Network == config.HostNetworkWorkspace {
			_ = change(c.allow, c.rule) // the workspace's own has been decided already
		}
	}
}

// sweep ends what is in these walls and belongs to no call that is under way, and returns
// when nothing of it is left. A label is the program's to change: one that takes away its
// own is of no call, and one that takes another's ends with that.
// Many calls may end at one time, and each look goes through all: who comes while one is
// under way shares the next.
func (x *executor) sweep(w *hostWalls) error {
	x.mu.Lock()
	round := x.next
	first := round == nil || round.walls != w
	if first {
		round = &sweepRound{walls: w, done: make(chan struct{})}
		x.next = round
	}
	x.mu.Unlock()
	if first {
		x.sweeping.Lock()
		x.mu.Lock()
		if x.next == round {
			x.next = nil // whose call ends from now on wants another look
		}
		x.mu.Unlock()
		round.err = processes.KillStrays(w.stage, x.underWay)
		x.sweeping.Unlock()
		close(round.done)
	}
	<-round.done
	return round.err
}

// underWay says whether a call with this label is.
func (x *executor) underWay(label uint64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.active[label]
}

// sweepRound is one look that several calls wait for.
type sweepRound struct {
	walls *hostWalls
	done  chan struct{}
	err   error
}

// start starts a command.
func (x *executor) start(w *hostWalls, command *config.HostCommand, c hostexec.Call, dir string) (hostexec.Process, *hostexec.Problem) {
	h := x.host
	tools, err := h.p.ToolchainOf(command.Toolchain, len(command.SecretEnv)+len(command.SecretFiles))
	if err != nil {
		return nil, h.noWalls(command, err)
	}
	r := &hostProcess{x: x, w: w, label: h.label(), line: commandLine(&c), stop: func() {}, timedOut: make(chan struct{}), ended: make(chan struct{})}
	files := c.Stdio
	if c.Size != nil {
		near, far, err := w.up.walls.NewPty()
		if err != nil {
			return nil, problemOf(api.Refused(api.CodeStart, "host-exec", command.Name, err.Error(), ""))
		}
		defer far.Close()
		r.terminal = os.NewFile(uintptr(tty.Dup(near)), "terminal")
		files = [3]*os.File{far, far, far}
		r.Resize(*c.Size)
	}
	argv, path := append([]string{c.Command}, c.Args...), cmp.Or(w.p.ProgramAt(c.Command), w.p.HostPrograms[c.Command])
	if path == "" && tools == nil {
		return nil, x.notStarted(command, dir, &sandbox.StartError{Name: command.Name, Code: int(unix.ENOENT)})
	}
	if tools != nil {
		argv, path = tools.Enter(argv), ""
	}
	x.enter(r.label, c.Caller)
	cmd := sandbox.Command{
		Argv: argv, Env: w.environ(command, c.Env), Dir: dir, Path: path, Session: true, Terminal: c.Size != nil, Label: r.label,
	}
	if r.id, err = w.up.walls.Exec(cmd, files); err != nil {
		x.leave(r.label)
		if r.terminal != nil {
			r.terminal.Close()
		}
		return nil, x.notStarted(command, dir, err)
	}
	h.p.Audit.Own(api.AuditApp, "host-exec", r.line, fmt.Sprintf("by process %d, in %s", c.Caller, dir))
	if command.Timeout > 0 {
		t := time.AfterFunc(command.Timeout, func() {
			close(r.timedOut)
			r.End()
		})
		r.stop = func() { t.Stop() }
	}
	return r, nil
}

func (x *executor) notStarted(command *config.HostCommand, dir string, err error) *hostexec.Problem {
	p := &hostexec.Problem{Code: api.CodeStart, Operation: "host-exec", Subject: command.Name, Exit: api.ExitNotRunable, Message: err.Error()}
	var s *sandbox.StartError
	switch {
	case !errors.As(err, &s):
		p.Exit = api.ExitOurs
	case s.Name == dir && dir != command.Name:
		p.Message = fmt.Sprintf("the directory %.200q cannot be entered by host commands: %s", dir, s.Err)
	case s.Code == int(unix.ENOENT):
		p.Exit, p.Message, p.Hint = api.ExitNotFound, fmt.Sprintf("%s is a host command, and is not installed: nothing in your PATH has that name, but for what programs inside could have put there", command.Name), "install it outside"
	}
	return p
}

// privateTemp is a directory for temporary files that no other walls have.
const privateTemp = "/dev/shm"

// usualPassed are variables that every call takes along.
var usualPassed = []string{"TERM", "COLORTERM", "LANG", "TZ", "NO_COLOR", "FORCE_COLOR", "CI", "COLUMNS", "LINES"}

// environ is the environment of a command: that of its walls, what its caller passes of
// what may be passed, and what of the person's own it is given.
func (w *hostWalls) environ(command *config.HostCommand, from []string) []string {
	env := slices.Clone(w.p.Plan.Command.Env)
	set := func(name, v string) {
		env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		env = append(env, name+"="+v)
	}
	for _, e := range from {
		name, v, ok := strings.Cut(e, "=")
		if ok && !strings.ContainsRune(e, 0) && (slices.Contains(usualPassed, name) || strings.HasPrefix(name, "LC_") || command.Passes(name)) {
			set(name, v)
		}
	}
	if command.Alone() { // the workspace's programs see what is in /tmp
		set("TMPDIR", privateTemp)
	}
	for _, name := range command.SecretEnv {
		if v := w.p.Getenv(name); v != "" {
			set(name, v)
		}
	}
	return env
}

// hosts gives what changes the host rules of a workspace that runs, nil where there are
// none.
func (u *raised) hosts() func(allow bool, rule string) error {
	own := u.network.Hosts()
	if own == nil || u.host == nil {
		return own
	}
	return func(allow bool, rule string) error {
		err := own(allow, rule)
		if err == nil {
			u.host.hosts(allow, rule)
		}
		return err
	}
}

// enter says whose step it is what a command changes: that of who called it.
func (x *executor) enter(label uint64, caller int) {
	x.mu.Lock()
	if x.active == nil {
		x.active = make(map[uint64]bool)
	}
	x.active[label] = true
	x.mu.Unlock()
	if b := x.host.up.broker; b != nil {
		b.recorder.Lend(label, caller)
	}
}

func (x *executor) leave(label uint64) {
	x.mu.Lock()
	delete(x.active, label)
	x.mu.Unlock()
	if b := x.host.up.broker; b != nil {
		b.recorder.GiveBack(label)
	}
}
