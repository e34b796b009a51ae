package jsonapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"carrel/internal/agents"
	"carrel/internal/api"
	"carrel/internal/named"
	"carrel/internal/op"
	"carrel/internal/op/historyop"
	"carrel/internal/op/startop"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/supervisor"
	"carrel/internal/tools"
)

// session is a workspace that this process owns.
type session struct {
	server  *Server
	entry   supervisor.Entry
	caller  *op.Caller // in the first directory
	dirs    []directory
	project string
	backend policy.Backend
	mode    string // ephemeral or persistent
	agent   string

	ctx  context.Context // until the session ends
	end  context.CancelFunc
	busy sync.WaitGroup // what follows the workspace

	outside outside // what others change
	looks   looks   // at what commands changed

	mu       sync.Mutex
	commands map[string]bool // that run
	notes    map[string]bool // that were told at the start, and come once more as events
	ending   atomic.Bool     // we end it
	begun    atomic.Uint64   // how many commands and changes of ours there were
}

// directory is one working directory.
type directory struct {
	path     string // canonical
	label    string
	readOnly bool
}

// maxDirectories bounds the directories of a session.
const maxDirectories = 64

// stopTime is how long the end of a workspace is waited for.
const stopTime = 20 * time.Second

// errNoSession is what a request gets that needs one.
func errNoSession() *Problem {
	return invalid("session", "there is no session: session.start begins one")
}

// active gives the session. One whose workspace has ended without us is over.
func (s *Server) active() (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.session; n != nil && !n.entry.Alive() {
		s.session, s.cutOff = nil, n.entry.ID
		n.end()
	}
	if s.session == nil {
		return nil, errNoSession()
	}
	return s.session, nil
}

// directories are those that a session is asked for, or those of the command line.
func (s *Server) directories(in startIn) ([]directory, error) {
	if len(in.Directories) == 0 {
		for _, path := range s.opts.Directories {
			in.Directories = append(in.Directories, workingDirectory{Path: path})
		}
	}
	if len(in.Directories) == 0 {
		return nil, missing("working_directories")
	}
	if len(in.Directories) > maxDirectories {
		return nil, invalid("working_directories", "there are %d: at most %d", len(in.Directories), maxDirectories)
	}
	var out []directory
	for i, one := range in.Directories {
		field := fmt.Sprintf("working_directories[%d]", i)
		d, err := one.open(field)
		if err != nil {
			return nil, err
		}
		if undo := s.opts.UndoDir; undo != "" && (pathname.Within(undo, d.path) || pathname.Within(d.path, undo)) {
			return nil, invalid(field+".path", "the undo directory %q and %q lie in each other: commands must not reach the history", undo, d.path)
		}
		for _, other := range out {
			if pathname.Within(d.path, other.path) || pathname.Within(other.path, d.path) {
				return nil, invalid(field+".path", "%q and %q lie in each other: one of them is enough", d.path, other.path)
			}
			if d.label != "" && d.label == other.label {
				return nil, invalid(field+".label", "the label %q stands twice", d.label)
			}
		}
		out = append(out, d)
	}
	return out, nil
}

func (w workingDirectory) open(field string) (directory, error) {
	d := directory{label: w.Label}
	if w.Access != "" && w.Access != accessWrite && w.Access != accessRead {
		return d, invalid(field+".access", "access is %s or %s, not %q", accessWrite, accessRead, w.Access)
	}
	d.readOnly = w.Access == accessRead
	if w.Path == "" || strings.IndexByte(w.Path, 0) >= 0 {
		return d, invalid(field+".path", "the path is empty, or has a zero byte")
	}
	path, err := filepath.Abs(w.Path)
	if err == nil {
		d.path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return d, invalid(field+".path", "%v", err)
	}
	if !utf8.ValidString(d.path) {
		return d, invalid(field+".path", "%q is not UTF-8, which this protocol cannot name; carrel run and carrel start work there", d.path)
	}
	if info, err := os.Stat(d.path); err != nil || !info.IsDir() {
		return d, invalid(field+".path", "%q is no directory", w.Path)
	}
	return d, nil
}

// Names of the protocol.
const (
	accessWrite, accessRead   = "read_write", "read_only"
	modeEphemeral, modePersis = "ephemeral", "persistent"
	ownMark, keptMark         = "-stdio-", "-stdio"
)

// begin starts a session.
func (s *Server) begin(ctx context.Context, in startIn) (*session, error) {
	dirs, err := s.directories(in)
	if err != nil {
		return nil, err
	}
	n := &session{server: s, dirs: dirs, mode: in.Mode, agent: in.agent(s.opts.Agent), commands: map[string]bool{}}
	n.caller = s.opts.Caller.At(dirs[0].path)
	if n.agent != "" && s.opts.Backend == backendNone {
		return nil, invalid("carrel.agent", "without walls no agent is asked without its questions: agent.execute starts it as you would")
	}
	if n.mode == "" {
		n.mode = modeEphemeral
	}
	name := named.NameFor(dirs[0].path)
	if n.mode == modePersis {
		name = name[:min(len(name), 40)] + keptMark
	} else {
		name = tools.OwnName(name, ownMark)
	}
	ready, err := op.Call(ctx, func() (*startop.Started, error) {
		w := n.wish(in, name)
		r, err := w.Request(n.caller)
		if err != nil {
			return nil, err
		}
		return startop.Start(ctx, n.caller, r)
	})
	if err != nil {
		return nil, s.otherVersion(err)
	}
	if ready.Already {
		return nil, invalid("vm_mode", "the persistent workspace %s is used by another program; ephemeral ones do not meet", name)
	}
	if err := n.find(name); err != nil {
		return nil, err
	}
	n.project, n.backend = ready.Status.Project, policy.Backend(cmp.Or(ready.Status.Backend, string(policy.BackendProcess))) // an older supervisor does not say that
	n.ctx, n.end = context.WithCancel(context.Background())
	err = s.rightHistory(ctx, n)
	if err == nil {
		err = s.applyWants(ctx, n)
	}
	if err != nil {
		return nil, errors.Join(err, n.stop(context.WithoutCancel(ctx)))
	}
	if ready.Interrupted, err = n.interrupted(ctx, ready.Interrupted); err != nil {
		return nil, errors.Join(err, n.stop(context.WithoutCancel(ctx)))
	}
	if err := s.keepControl(ctx, n); err != nil {
		return nil, errors.Join(err, n.stop(context.WithoutCancel(ctx)))
	}
	n.tellStart(ready)
	n.busy.Go(n.follow)
	n.watchOutside()
	return n, nil
}

// noteControl remembers the control of the session's workspace, as far as it answers. A
// workspace that ends with the session keeps none itself.
func (n *session) noteControl(ctx context.Context) {
	if n.mode != modeEphemeral {
		return
	}
	if r, err := n.entry.Call(ctx, api.Request{Op: api.OpStatus}); err == nil && r.Status != nil && r.Status.Control != nil {
		n.server.mu.Lock()
		defer n.server.mu.Unlock()
		n.server.control = *r.Status.Control
	}
}

// keepControl puts a new session under the control of the one before: its end and another start
// must not give a program back what was taken from it.
func (s *Server) keepControl(ctx context.Context, n *session) error {
	s.mu.Lock()
	was := s.control
	s.mu.Unlock()
	if n.mode != modeEphemeral || was.Mode == "" || was.Mode == api.ControlActive {
		return nil
	}
	_, err := n.entry.Call(ctx, api.Request{Op: api.OpControl, Mode: was.Mode, Reason: was.Reason})
	if err != nil {
		return fmt.Errorf("putting the session under control %s, as the one before it was: %w", was.Mode, err)
	}
	return nil
}

// wish is what the session's workspace is asked for with.
func (n *session) wish(in startIn, name string) startop.Wish {
	w := n.server.opts.Start
	w.Name, w.Owner, w.Passing = name, os.Getpid(), n.mode == modeEphemeral
	w.Backend, w.Agent = n.server.opts.Backend, n.agent
	w.Isolation = in.Isolation
	w.Network = cmp.Or(string(networks[in.Network]), w.Network)
	w.Hosts = slices.Concat(w.Hosts, in.Hosts)
	w.Read = slices.Clone(w.Read)
	if a, ok := agents.ByName(n.agent); ok && a.PromptsOff.Possible() {
		w.NoPrompts = true // no person is there to answer
	}
	for i, d := range n.dirs {
		switch {
		case d.readOnly:
			w.Read = append(w.Read, d.path)
		case i > 0 || n.server.opts.Ceiling != "": // what is asked for and not granted is refused
			w.Write = append(w.Write, d.path)
		}
	}
	return w
}

// find looks the workspace up.
func (n *session) find(name string) error {
	entries, err := supervisor.Find(n.server.opts.Registry)
	for _, e := range entries {
		if e.Name == name {
			e.Ceiling = n.server.opts.Ceiling // each request says what it is held to
			n.entry = e
			return nil
		}
	}
	if err == nil {
		err = fmt.Errorf("workspace %s was started, and has ended", name)
	}
	return err
}

// roots are the directories beside the project that may be changed.
func (n *session) roots() []string {
	var out []string
	for _, d := range n.dirs[1:] {
		if !d.readOnly {
			out = append(out, d.path)
		}
	}
	return out
}

// tellStart tells what there is to know of a start.
func (n *session) tellStart(r *startop.Started) {
	s := n.server
	n.notes = map[string]bool{}
	for _, text := range slices.Concat(r.Announcements, r.Notes) {
		n.notes[text] = true
		s.emit("warning", said{Code: "workspace", Message: text})
	}
	if len(r.Interrupted) > 0 {
		s.emit("recovery", recovered{Steps: r.Interrupted, Message: "what these steps had done is still there; carrel.show lists it, undo.rollback takes it back"})
	}
	if n.project != n.dirs[0].path {
		s.emit("warning", said{Code: "project_is_repository", Message: fmt.Sprintf("%q lies in the git repository %q, which is the workspace's project: commands may change all of it", n.dirs[0].path, n.project)})
	}
}

// stop ends the workspace.
func (n *session) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	n.ending.Store(true)
	_, err := n.entry.Call(ctx, api.Request{Op: api.OpStop})
	if err == nil || !n.entry.Alive() {
		err = n.entry.WaitEnd(ctx)
	}
	n.end()
	n.busy.Wait()
	if err == nil && n.mode == modeEphemeral {
		err = named.RemoveFreed(ctx, n.server.opts.State, n.entry.Name)
	}
	return err
}

// hasEnded says whether a workspace that does not answer is ending.
func (n *session) hasEnded(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return n.entry.WaitEnd(ctx) == nil
}

// endSession ends the session, if there is one.
func (s *Server) endSession(ctx context.Context) error {
	s.mu.Lock()
	n := s.session
	s.session = nil
	s.mu.Unlock()
	if n == nil {
		return nil
	}
	n.noteControl(ctx)
	return n.stop(ctx)
}

// follow tells what happens in the workspace until it ends.
func (n *session) follow() {
	var last uint64
	var err error
	for n.ctx.Err() == nil && n.entry.Alive() {
		err = n.entry.Stream(n.ctx, api.Request{Op: api.OpEvents, Follow: true, Since: last}, func(r api.Reply) error {
			if r.Event != nil {
				last = r.Event.Seq
				n.happened(r.Event)
			}
			return nil
		})
		pause(n.ctx, settle) // it is ending, or the conversation was cut: what comes after it is asked for again
	}
	if !n.ending.Load() && !n.entry.Alive() {
		text := "the workspace has ended"
		if err != nil {
			text += ": " + err.Error()
		}
		n.server.cut(n)
		n.server.emit("error", said{Code: "workspace_ended", Message: text})
	}
}

// cut is for a workspace that has ended without us.
func (s *Server) cut(n *session) {
	n.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cutOff = n.entry.ID; s.session == n {
		s.session = nil
	}
}

// interrupted are the steps that were closed as they were found: by this start, or by
// whatever looked at the history since a workspace of ours was cut off.
func (n *session) interrupted(ctx context.Context, closed []uint64) ([]uint64, error) {
	s := n.server
	s.mu.Lock()
	run := s.cutOff
	s.cutOff = ""
	s.mu.Unlock()
	if run == "" {
		return closed, nil
	}
	list, err := n.steps().history(ctx, "")
	for _, one := range list {
		if one.State == "interrupted" && one.Run == run && !slices.Contains(closed, one.Step) {
			closed = append(closed, one.Step)
		}
	}
	return closed, err
}

// happened tells of one event of the workspace.
func (n *session) happened(e *api.Event) {
	s := n.server
	if e.Lost > 0 {
		s.emit("warning", said{Code: "events_lost", Message: fmt.Sprintf("%d events of the workspace are missing here", e.Lost)})
	}
	switch {
	case e.Kind == api.EventControl:
		n.noteControl(n.ctx)
	case e.Kind == api.EventAsked && e.Approval != nil:
		n.asked(e.Approval)
	case e.Kind == api.EventAnswered && e.Approval != nil:
		s.emit("carrel.approval", approvalSaid(e.Approval))
	case e.Kind == api.EventDenial && e.Denial != nil:
		s.emit("carrel.denial", refused{asMap(e.Denial)})
	case e.Kind == api.EventNote && n.notes[e.Text]:
		delete(n.notes, e.Text)
	case e.Kind == api.EventNote || e.Kind == api.EventListed || e.Kind == api.EventCouldNotKeep || e.Kind == api.EventExpired:
		s.emit("warning", said{Code: e.Kind, Message: e.Text})
	}
}

// asked tells of something that waits.
func (n *session) asked(a *api.Approval) {
	if a.Term == "" && a.Source != "safeguards" {
		n.server.emit("carrel.approval", approvalSaid(a))
		return
	}
	h := held{StepID: a.Step, ID: a.ID, Kind: a.Term, Sample: a.Sample, Message: a.Reason, CommandID: a.App, Operation: a.Operation, Path: a.Subject, Deadline: a.Deadline.UTC().Format(time.RFC3339Nano)}
	if h.Kind == "" {
		h.Kind = kindUser
	}
	if h.Sample == nil {
		h.Sample = []string{a.Subject}
	}
	n.server.emit("safeguard_triggered", h)
}

// kindUser is a safeguard of the user's configuration, which a person answers.
const kindUser = "carrel.user"

func approvalSaid(a *api.Approval) answered {
	return answered{ID: a.ID, Waiting: a.Answer == "", Answer: a.Answer, What: a.Operation, Subject: a.Subject, Reason: a.Reason, Deadline: a.Deadline.UTC().Format(time.RFC3339Nano)}
}

// otherVersion tells of a start that failed as another version wrote the history.
func (s *Server) otherVersion(err error) error {
	var d *api.Denial
	if errors.As(err, &d) && d.Code == api.CodeOtherVersion {
		s.mu.Lock()
		s.foreign = d.Subject
		s.mu.Unlock()
		s.emit("undo_version_mismatch", otherVersion{Expected: d.Rule, Found: d.Source, Message: d.Message})
	}
	return err
}

// rightHistory sees that the history is where it was asked for.
func (s *Server) rightHistory(ctx context.Context, n *session) error {
	if s.opts.UndoDir == "" {
		return nil
	}
	dir, err := op.Call(ctx, func() (string, error) { return historyop.Dir(n.caller, historyop.Of{}) })
	if err != nil {
		return err
	}
	if !pathname.Within(dir, s.opts.UndoDir) {
		return &Problem{Code: CodeInvalid, Field: "session", Message: fmt.Sprintf("the history is at %q and not in the undo directory %q", dir, s.opts.UndoDir)}
	}
	return nil
}

// networks are the names of the older system, and ours.
var networks = map[string]policy.NetworkMode{
	"disabled": policy.NetClosed, "local_only": policy.NetLocal, "inherit_host": policy.NetOpen,
	string(policy.NetClosed): policy.NetClosed, string(policy.NetLocal): policy.NetLocal, string(policy.NetFiltered): policy.NetFiltered, string(policy.NetOpen): policy.NetOpen,
}

func checkNetwork(name string) error {
	if _, ok := networks[name]; ok || name == "" {
		return nil
	}
	return invalid("network_policy", "network_policy is disabled, local, filtered or open, not %q", name)
}
