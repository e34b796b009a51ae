package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/decide"
	"carrel/internal/hostexec"
	"carrel/internal/inside"
	"carrel/internal/pathname"
	"carrel/internal/processes"
	"carrel/internal/sandbox"
	"carrel/internal/steps"
	"carrel/internal/supervisor"
	"carrel/internal/tty"

	"golang.org/x/sys/unix"
)

// Bounds on host commands.
const (
	maxHostSubject = 200 // bytes of a command line, where it is told
	maxTitle       = 200 // bytes
	hostLabels     = 1 << 31
)

// hostService answers programs inside that want a command of the host run. It starts
// nothing in the walls that they are in: see [executor].
type hostService struct {
	p        *Session
	id       string // of the workspace
	up       *raised
	server   *hostexec.Server
	commands []config.HostCommand
	token    string

	ready  chan struct{} // closed when the next two are known
	desk   *supervisor.Server
	inside *insideServer
	ctx    context.Context
	end    context.CancelFunc

	telling sync.WaitGroup // of what has ended

	mu         sync.Mutex
	walls      map[string]*executor // by the name of a command alone, "" for all others
	labels     uint64
	told       map[string]bool
	spoken     int // statuses and titles, since
	spokenFrom time.Time
	lastSpoken string
	changes    []hostChange // of the host rules, since the start
}

// serveHost begins to answer, once the walls stand.
func serveHost(s *Session, up *raised, id string, listeners ...net.Listener) *hostService {
	h := &hostService{p: s, id: id, up: up, commands: s.HostCommands(), token: s.HostToken, ready: make(chan struct{}), walls: make(map[string]*executor), told: make(map[string]bool)}
	h.ctx, h.end = context.WithCancel(context.Background())
	h.server = &hostexec.Server{Host: h, Token: h.token}
	for _, l := range listeners {
		h.server.Serve(l)
	}
	return h
}

// answersTo tells who hears of what happens. It may be called on nil.
func (h *hostService) answersTo(desk *supervisor.Server, inside *insideServer) {
	if h != nil {
		h.desk, h.inside = desk, inside
		close(h.ready)
	}
}

// close ends all host commands and their walls. It may be called on nil, and twice. Nobody
// inside can hold it up: what they keep open or do not read is let go of.
func (h *hostService) close() {
	if h == nil {
		return
	}
	h.end()
	h.server.Stop()
	h.mu.Lock()
	all := h.walls
	h.walls = nil
	h.mu.Unlock()
	for _, x := range all {
		x.close()
	}
	h.server.Close()
	h.telling.Wait()
}

// Commands implements [hostexec.Host].
func (h *hostService) Commands() []string {
	out := []string{}
	for _, c := range h.commands {
		out = append(out, c.Name)
	}
	return out
}

// Status implements [hostexec.Host].
func (h *hostService) Status(word string) *hostexec.Problem {
	problem := h.speak("status: " + word)
	if problem == nil && h.ready != nil {
		select {
		case <-h.ready:
			h.desk.SetAgentState(word)
		case <-h.ctx.Done():
		}
	}
	return problem
}

// Title implements [hostexec.Host].
func (h *hostService) Title(text string) *hostexec.Problem {
	return h.speak("title: " + shortText(text, maxTitle))
}

func shortText(s string, most int) string { return strings.ToValidUTF8(s[:min(len(s), most)], "") }

func (h *hostService) speak(text string) *hostexec.Problem {
	h.mu.Lock()
	if now := time.Now(); now.Sub(h.spokenFrom) >= time.Second {
		h.spokenFrom, h.spoken = now, 0
	}
	again := text == h.lastSpoken
	h.lastSpoken = text
	h.spoken++
	many := h.spoken > steps.MarksPerSecond
	h.mu.Unlock()
	if many {
		return &hostexec.Problem{Code: api.CodeBusy, Message: fmt.Sprintf("more than %d statuses and titles in a second", steps.MarksPerSecond)}
	}
	if again {
		return nil
	}
	h.emit(api.EventNote, text)
	return nil
}

func (h *hostService) emit(kind, text string) {
	select {
	case <-h.ready:
		h.desk.Emit(api.Event{Kind: kind, Text: text})
	case <-h.ctx.Done():
	}
}

// Start implements [hostexec.Host].
func (h *hostService) Start(ctx context.Context, c hostexec.Call) (hostexec.Process, *hostexec.Problem) {
	list := h.commands
	i := slices.IndexFunc(list, func(o config.HostCommand) bool { return o.Name == c.Command })
	if i < 0 && inside.IsBuiltIn(c.Command) {
		return h.builtIn(ctx, c)
	}
	if i < 0 {
		p := &hostexec.Problem{Code: hostexec.CodeUnknown, Exit: api.ExitNotFound, Message: fmt.Sprintf("%.64q is no host command", c.Command), Hint: "there are none: host_commands in your configuration lists them"}
		if len(list) > 0 {
			p.Hint = "there are: " + decide.HostNames(list)
		}
		return nil, h.refused(p, &c, "host_commands", "built in")
	}
	command := &list[i]
	if len(command.Args) > 0 && !slices.ContainsFunc(command.Args, func(a config.ArgPattern) bool { return a.Matches(c.Args) }) {
		var patterns []string
		for _, a := range command.Args {
			patterns = append(patterns, fmt.Sprintf("%q", a.Text))
		}
		return nil, h.refused(&hostexec.Problem{Code: api.CodeProgram, Exit: api.ExitNotRunable, Message: fmt.Sprintf("%s is not allowed with these arguments", c.Command),
			Hint: "host_commands allows: " + strings.Join(patterns, ", ")}, &c, "host_commands: args", command.Source.String())
	}
	dir, problem := h.directory(&c)
	if problem != nil {
		return nil, problem
	}
	if problem := h.allowed(); problem != nil {
		return nil, problem
	}
	if problem := h.approved(ctx, command, &c, dir); problem != nil {
		return nil, problem
	}
	if problem := h.allowed(); problem != nil { // a person may have taken minutes
		return nil, problem
	}
	x, err := h.executor(command)
	var w *hostWalls
	if err == nil {
		w, err = x.stand()
	}
	if err != nil {
		return nil, h.noWalls(command, err)
	}
	return x.start(w, command, c, dir)
}

// allowed says why nothing is started any more, or at this moment.
func (h *hostService) allowed() *hostexec.Problem {
	why := h.p.Audit.Refuse("host-exec")
	if why == nil && h.known() {
		why = h.desk.Expired(hostexec.TypeExec)
	}
	if why != nil {
		return problemOf(why)
	}
	return nil
}

func (h *hostService) known() bool {
	select {
	case <-h.ready:
		return true
	default:
		return false
	}
}

// directory is where a command works: in the project, or in what else can be written.
func (h *hostService) directory(c *hostexec.Call) (string, *hostexec.Problem) {
	dir := c.Dir
	if dir == "" {
		return h.p.Place.Project, nil
	}
	if clean := filepath.Clean(dir); filepath.IsAbs(dir) && !strings.ContainsRune(dir, 0) {
		for _, root := range append([]string{h.p.Place.Project}, h.p.Plan.Roots...) {
			if pathname.Within(clean, root) && liesBelow(root, clean) {
				return clean, nil
			}
		}
	}
	return "", h.refused(&hostexec.Problem{Code: hostexec.CodeRequest, Exit: api.ExitNotRunable, Message: fmt.Sprintf("host commands work in the project, and %.200q is not in it", dir),
		Hint: "change to " + h.p.Place.Project}, c, "host commands work in the project", "built in")
}

// liesBelow says whether a directory is below another one with no link that leads out, as
// it is at this moment: where it is exchanged afterwards, the command's own walls hold.
func liesBelow(root, dir string) bool {
	top, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(top)
	rel := strings.TrimPrefix(strings.TrimPrefix(dir, root), "/")
	if rel == "" {
		return true
	}
	fd, err := unix.Openat2(top, rel, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
}

// approved asks a person, where the command wants that.
func (h *hostService) approved(ctx context.Context, command *config.HostCommand, c *hostexec.Call, dir string) *hostexec.Problem {
	if !command.Ask {
		return nil
	}
	select {
	case <-h.ready:
	case <-ctx.Done():
		return &hostexec.Problem{Code: api.CodeBusy, Message: "nobody waits any more"}
	}
	how, _ := h.desk.AskFor(ctx, api.Approval{Operation: "host-exec", Subject: wholeCall(command, c, dir), Rule: "host_commands: ask", Source: command.Source.String(),
		Reason: "a program inside wants this run outside its walls", Hint: "approve to run it once"}, time.Now().Add(steps.AnswerTime))
	if how == api.AnswerApproved {
		return nil
	}
	return h.refused(&hostexec.Problem{Code: api.CodeProgram, Exit: api.ExitNotRunable, Message: fmt.Sprintf("%s was not approved", c.Command), Hint: "`carrel approvals` shows what waits, to a person"}, c, "host_commands: ask", command.Source.String())
}

// wholeCall is all that a person has to know who is asked about a call: each word, the
// directory, and what of the caller's variables it gets. What is too long to be read is
// denied where it is asked.
func wholeCall(command *config.HostCommand, c *hostexec.Call, dir string) string {
	text := quotedWord(c.Command)
	for _, a := range c.Args {
		text += " " + quotedWord(a)
	}
	text += "  in " + quotedWord(dir)
	for _, e := range c.Env {
		if name, _, _ := strings.Cut(e, "="); command.Passes(name) {
			text += "  with " + quotedWord(e)
		}
	}
	return text
}

func quotedWord(w string) string {
	if w == "" || strings.ContainsFunc(w, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("\"'\\$`;&|<>*?()", c) }) {
		return strconv.QuoteToASCII(w)
	}
	return w
}

// commandLine is a call as logs have it: its beginning, and how much is left out.
func commandLine(c *hostexec.Call) string {
	line := quotedWord(c.Command)
	for i, a := range c.Args {
		word := quotedWord(a)
		if len(line)+len(word) > maxHostSubject {
			return fmt.Sprintf("%s ... (and %d more words)", line, len(c.Args)-i)
		}
		line += " " + word
	}
	return line
}

// refused tells of a refusal, once for each command line.
func (h *hostService) refused(p *hostexec.Problem, c *hostexec.Call, rule, source string) *hostexec.Problem {
	p.Operation, p.Subject, p.Rule, p.Source = "host-exec", commandLine(c), rule, source
	h.mu.Lock()
	key := p.Code + " " + p.Subject
	again := h.told[key] || len(h.told) >= h.p.MostDenials()
	if !again {
		h.told[key] = true
	}
	h.mu.Unlock()
	if again {
		return p
	}
	d := api.Denial{Code: p.Code, Operation: p.Operation, Subject: p.Subject, Message: p.Message, Rule: rule, Source: source, Hint: p.Hint}
	h.p.Deny(d)
	if h.p.Heard() == nil && h.known() {
		h.desk.Emit(api.Event{Kind: api.EventDenial, Denial: &d})
	}
	return p
}

func problemOf(d *api.Denial) *hostexec.Problem {
	return &hostexec.Problem{Code: d.Code, Message: d.Message, Operation: d.Operation, Subject: d.Subject, Rule: d.Rule, Source: d.Source, Hint: d.Hint, Exit: api.ExitOurs}
}

// noWalls says why a command's walls do not stand.
func (h *hostService) noWalls(command *config.HostCommand, err error) *hostexec.Problem {
	var d *api.Denial
	if errors.As(err, &d) {
		return problemOf(d)
	}
	message, hint, _ := strings.Cut(err.Error(), "\nhint: ")
	return &hostexec.Problem{Code: api.CodeStart, Operation: "host-exec", Subject: command.Name, Exit: api.ExitOurs, Message: "the walls for host commands cannot be built: " + message, Hint: hint}
}

// executor gives the walls that a command runs in, and makes them at the first call.
func (h *hostService) executor(command *config.HostCommand) (*executor, error) {
	name := ""
	if command.Alone() {
		name = command.Name
	} else {
		command = nil
	}
	h.mu.Lock()
	if h.walls == nil {
		h.mu.Unlock()
		return nil, errors.New("the workspace is ending")
	}
	x := h.walls[name]
	if x == nil {
		x = &executor{host: h, p: h.p, command: command}
		h.walls[name] = x
	}
	h.mu.Unlock()
	return x, nil
}

// hostChange is one of the host rules while the workspace runs.
type hostChange struct {
	allow bool
	rule  string
}

// hosts passes a change of the host rules on to all walls, those that come later too.
func (h *hostService) hosts(allow bool, rule string) {
	if h == nil {
		return
	}
	h.mu.Lock()
	h.changes = append(h.changes, hostChange{allow, rule})
	all := slices.Collect(maps.Values(h.walls))
	h.mu.Unlock()
	for _, x := range all {
		x.catchUp()
	}
}

// label gives a command a label of its own; no app has it.
func (h *hostService) label() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.labels++
	return hostLabels + h.labels%(hostLabels-1)
}

// hostProcess is a host command that runs.
type hostProcess struct {
	x        *executor
	w        *hostWalls
	id       uint64
	label    uint64
	line     string
	terminal *os.File
	stop     func() // of the time limit
	timedOut chan struct{}
	ended    chan struct{}
	once     sync.Once
}

// Terminal implements [hostexec.Process].
func (r *hostProcess) Terminal() *os.File { return r.terminal }

// Signal implements [hostexec.Process].
func (r *hostProcess) Signal(sig syscall.Signal) {
	if sig == syscall.SIGKILL {
		r.End()
		return
	}
	_ = r.w.up.walls.Signal(r.id, sig)
}

// Resize implements [hostexec.Process].
func (r *hostProcess) Resize(s hostexec.Size) {
	if r.terminal != nil {
		tty.Resize(r.terminal, int(s.Columns), int(s.Rows))
	}
}

// End implements [hostexec.Process].
func (r *hostProcess) End() {
	r.once.Do(func() {
		go func() {
			stage := r.w.up.walls.PID()
			for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGCONT} {
				_ = r.w.up.walls.Signal(r.id, sig)
				processes.Signal(processes.Labelled(stage, r.label), sig)
			}
			select {
			case <-r.ended:
				return
			case <-time.After(hostGrace):
			}
			_ = r.w.up.walls.Signal(r.id, syscall.SIGKILL) // whatever its label says by now
			_ = processes.KillLabel(stage, r.label)
		}()
	})
}

// hostGrace is what a command has to end by itself, once nobody waits for it.
const hostGrace = 300 * time.Millisecond

// Wait implements [hostexec.Process].
func (r *hostProcess) Wait() hostexec.Exit {
	exit, err := r.w.up.walls.Wait(r.id)
	if err != nil {
		exit = sandbox.Exit{Signal: int(syscall.SIGKILL)}
	}
	r.stop()
	r.x.leave(r.label)
	if err == nil {
		if err := r.x.sweep(r.w); err != nil {
			r.x.host.p.Note("host command %s: %v", r.line, err)
		}
	}
	close(r.ended)
	out := hostexec.Exit{Code: exit.Code}
	if exit.Signal != 0 {
		out.Code, out.Signal = 128+exit.Signal, strings.TrimPrefix(unix.SignalName(syscall.Signal(exit.Signal)), "SIG")
	}
	select {
	case <-r.timedOut:
		out = hostexec.Exit{Code: api.ExitTimeout}
	default:
	}
	r.x.host.telling.Go(func() { r.x.host.done(r.line, out) }) // nobody waits for that
	return out
}

// done writes down how a command ended.
func (h *hostService) done(line string, exit hostexec.Exit) {
	h.p.Audit.Own(api.AuditApp, "host-exec", line, fmt.Sprintf("status %d", exit.Code))
	h.emit(api.EventHostExec, fmt.Sprintf("%s: status %d", line, exit.Code))
}
