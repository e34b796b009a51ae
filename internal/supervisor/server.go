package supervisor

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/api"
)

// Freezer stops every process of a workspace and lets them go on. Freeze may
// be called on what is frozen, Thaw on what is not.
type Freezer interface {
	Freeze() error
	Thaw() error
}

// Config is what a run tells its server.
type Config struct {
	ID      string // lower-case hexadecimal
	Name    string // of a workspace that stays
	Project string
	Argv    []string
	Persona string
	Started time.Time
	Dirs    []string // see registry.Dirs; the first that can be used is

	// Backend is where the workspace runs, and Isolation what that gives.
	Backend, Isolation string
	// Freezer pauses; nil where that cannot be done.
	Freezer Freezer
	// Stop asks the workspace to end and sees to it that it does. It is called
	// once, on a goroutine of its own, and may take its time.
	Stop func()
	// Published are the ports inside that are reached outside.
	Published []api.Published
	// Hosts changes the host rules while it runs; nil where there are none. The
	// error is an *api.Denial where the policy refuses.
	Hosts func(allow bool, rule string) error
	// Watch lets a person watch the display until ctx ends, as somebody who may act in
	// a take-over if acts is set, and gives what a viewer needs to tell first; nil where
	// there is none.
	Watch func(ctx context.Context, req api.Watch, acts bool, tell func(api.Watching) error) error
	// Clipboard carries out clipboard-send and clipboard-take for a person; nil where
	// there is nothing to copy to.
	Clipboard func(context.Context, *Call) api.Reply
	// Desk carries out what can be asked of a workspace that stays; nil for one
	// command's. With it Control is the mode to begin with, and Keep writes a mode down.
	Desk    Desk
	Desktop Desk // answers requests to the desktop of a workspace without Desk; nil for none
	Control api.Control
	Keep    func(api.Control) error
	// Controlled is told each mode as it begins to hold, one at a time and not the
	// first; nil for nobody.
	Controlled func(mode string)
	// Record writes an event down, from the number First on, and Past reads those back
	// that came after a number; nil where nothing is written down.
	Record func(api.Event)
	First  uint64
	Past   func(since uint64, each func(api.Event) error) error
	// Ceiling is what the workspace was started under, nil for nothing. Held says why it
	// refuses a request beside what every workspace knows, nil where it does not or for a
	// nil Held. Denied is told when it has expired; nil for nobody.
	Ceiling *api.Ceiling
	Expiry  string // where it is said when the ceiling expires
	Held    func(req *api.Request) *api.Denial
	Denied  func(api.Denial)
	// Audit writes a record of the audit log down, Refuse says why nothing is done at this
	// moment whatever the mode is, and Waits is told of each operation that waits for a
	// person; it must not wait itself. nil where there is nothing of the kind.
	Audit  func(api.AuditRecord)
	Refuse func(op string) *api.Denial
	Waits  func(api.Approval)
	// Looks says whether a request that starts something only looks, so that it is carried
	// out under read_only too; nil for none.
	Looks func(*api.Request) bool
	// Kill ends an app at once, and all that it has started; nil where there are none. It
	// waits for nothing: what stands still ends when it is let go on.
	Kill func(app string)
	// Owner says whether a process is the one that the workspace belongs to; nil for
	// nobody. Its yes counts for what is held by its own terms.
	Owner func(pid int) bool
	// ProjectPaused reads the pause of the project, nil for none; nil where there never is one.
	// The error says that it cannot be read now.
	ProjectPaused func() (*api.ProjectPause, error)
	// AgentStands is told how the agent of the workspace stands, each time that it says another
	// word; it must not wait. nil tells no one.
	AgentStands func(state string)
	// Agent names the known agent that a process is, "" for none; nil knows none.
	Agent func(Process) string
}

// Server answers for one workspace. All methods may be called concurrently,
// and on nil, where Ask answers no.
type Server struct {
	cfg   Config
	queue *queue
	hub   *hub
	door  *door // the listening end; nil when there is none

	pauser   pauser
	stopOnce sync.Once // Stop
	endOnce  sync.Once // LetEnd
	control  control
	ending   sync.Once
	ended    chan struct{} // closed by Close
	expired  atomic.Bool   // the ceiling has
	project  project
	agent    agentState
}

// Serve registers a workspace and begins to answer. With an error the server
// is usable all the same, but nobody can reach it and Ask answers no.
func Serve(c Config) (*Server, error) {
	if c.Agent == nil {
		c.Agent = func(Process) string { return "" }
	}
	s := &Server{cfg: c, hub: newHub(c.ID), ended: make(chan struct{})}
	s.pauser.init(c.Freezer, s.hub)
	s.project.of = s
	s.hub.record, s.hub.seq = c.Record, c.First
	s.control.set(c.Control)
	s.queue = newQueue(c.ID, c.Project, s.hub.emit)
	s.queue.noted, s.queue.waits = s.cfg.noteApproval, c.Waits
	s.hub.emit(api.Event{Kind: api.EventStarted, Text: api.IsolationText(c.Isolation, c.Backend)})
	var err error
	if s.door, err = open(c, answerer{s}.answer); err != nil {
		s.queue.close()
	}
	s.expireInTime()
	if why := s.project.follow(context.Background()); why != nil {
		s.hub.emit(api.Event{Kind: api.EventNote, Text: why.Error()})
	}
	return s, err
}

// Status is what everybody outside is told.
func (s *Server) Status() *api.WorkspaceStatus { return s.status() }

// Manifest is the entry in the registry.
func (s *Server) Manifest() api.Manifest {
	if s == nil || s.door == nil {
		return api.Manifest{}
	}
	return s.door.manifest
}

// Dir is the place of the registry that it is in.
func (s *Server) Dir() string {
	if s == nil || s.door == nil {
		return ""
	}
	return s.door.place()
}

// Ask waits until a person approves or denies an operation. It is no when
// nobody has answered by the deadline, when ctx or the workspace ends, and at
// once when too much waits already or nobody could answer. Of the approval
// the operation, subject, rule, source, reason and hint count.
func (s *Server) Ask(ctx context.Context, a api.Approval, deadline time.Time) bool {
	how, _ := s.AskFor(ctx, a, deadline)
	return how == api.AnswerApproved
}

// AskFor is Ask for an operation that may be approved for more than this once:
// scope is one of the approval's scopes, "" for once. how is one of the
// api.Answer constants.
func (s *Server) AskFor(ctx context.Context, a api.Approval, deadline time.Time) (how, scope string) {
	if s == nil {
		return api.AnswerEnded, ""
	}
	v := s.queue.ask(ctx, a, deadline)
	if !v.granted && v.how == api.AnswerApproved {
		v.how = api.AnswerEnded
	}
	return v.how, v.scope
}

// Emit tells followers of something that happened.
func (s *Server) Emit(e api.Event) {
	if s != nil {
		s.hub.emit(e)
	}
}

// SetGate gives what holds new work of the workspace back while it is paused:
// it is called with true before a freeze and with false after a thaw.
func (s *Server) SetGate(gate func(hold bool)) {
	if s == nil {
		return
	}
	s.pauser.setGate(gate)
}

// Paused says whether the workspace is paused.
func (s *Server) Paused() bool { return s != nil && s.pauser.paused.Load() }

// Pause freezes the workspace until Resume is called as often: nobody else lets it go
// on before but Stop.
func (s *Server) Pause(ctx context.Context) error {
	if s == nil {
		return errNoFreeze
	}
	return s.pauser.pause(ctx)
}

// Resume lets it go on, unless a person has paused it meanwhile or before.
func (s *Server) Resume(ctx context.Context) error {
	if s == nil {
		return errNoFreeze
	}
	return s.pauser.resume(ctx)
}

// Stop denies what waits and has the workspace end. It waits for nothing.
func (s *Server) Stop() {
	if s == nil {
		return
	}
	s.LetEnd()
	s.stopOnce.Do(func() {
		if s.cfg.Stop != nil {
			go s.cfg.Stop()
		}
	})
}

// LetEnd is Stop for a workspace that the caller itself has asked to end: it denies what
// waits, and nothing is paused any more. It waits for nothing.
func (s *Server) LetEnd() {
	if s == nil {
		return
	}
	s.endOnce.Do(func() {
		s.pauser.stopping.Store(true)
		go func() { // a command has to run to end in order
			ctx, cancel := context.WithTimeout(context.Background(), workDeadline)
			defer cancel()
			_ = s.pauser.change(ctx, false)
		}()
		go s.queue.close()
		go s.hub.emit(api.Event{Kind: api.EventStopping})
	})
}

// Close denies what waits, ends all conversations and takes the entry out of
// the registry. Call it when the workspace has ended, or is about to.
func (s *Server) Close() {
	if s == nil {
		return
	}
	s.ending.Do(func() {
		s.pauser.stopping.Store(true)
		close(s.ended)
		s.queue.close()
		s.hub.emit(api.Event{Kind: api.EventEnded})
		s.hub.close()
		s.door.close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.pauser.change(ctx, false)
	})
}

var (
	errBusy     = errors.New("another pause or resume is under way and takes its time")
	errNoFreeze = errors.New("this workspace cannot be paused here")
	errEnding   = errors.New("the workspace is ending")
)
