package jsonapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"carrel/internal/api"
	"carrel/internal/op"
	"carrel/internal/op/startop"
)

// Options say what a server is for.
type Options struct {
	Ceiling     string       // the hash of what the client is held to; "" for nothing
	Caller      *op.Caller   // who asks for what is done here
	Directories []string     // absolute; those of a session that names none
	UndoDir     string       // absolute; "" for the place where the user's histories are
	Backend     string       // process, container, gvisor, lima, vm or none
	Agent       string       // that agent.prompt asks; "" for none
	Start       startop.Wish // what each session is asked for with
	Registry    []string     // directories in which running workspaces are found
	State       string       // the state directory
	Log         io.Writer    // log lines
}

// Server answers one client.
type Server struct {
	opts Options
	ops  map[string]*Operation
	out  *writer
	log  *logger

	free, urgent chan struct{} // one for each request that is carried out beside others

	queue chan func() // those in order
	busy  sync.WaitGroup

	running sync.WaitGroup // commands

	mu      sync.Mutex
	session *session    // nil for none
	last    startIn     // of the newest, for session.reset
	wants   wants       // what was configured
	cutOff  string      // the id of a workspace that ended without us
	foreign string      // a history of another version, for which no session was begun
	control api.Control // that the newest session of its own was under; the next one begins under it
}

// Bounds of a client's requests.
const (
	maxQueued = 1024
	maxBeside = 64
)

// New makes a server. An operation or event that cannot be described is an error.
func New(o Options) (*Server, error) {
	s := &Server{opts: o, ops: map[string]*Operation{}, log: &logger{to: o.Log}, free: make(chan struct{}, maxBeside), urgent: make(chan struct{}, maxBeside), queue: make(chan func(), maxQueued)}
	list := Operations()
	for i := range list {
		if list[i].In == nil || list[i].Out == nil {
			return nil, fmt.Errorf("the request %s cannot be described", list[i].Name)
		}
		s.ops[list[i].Name] = &list[i]
	}
	for _, e := range Events() {
		if e.Payload == nil {
			return nil, fmt.Errorf("the event %s cannot be described", e.Name)
		}
	}
	return s, nil
}

// Serve answers until ctx ends, or the input is over and everything that was asked for is
// done or gone is closed, which says that nobody listens any more. Then the session ends.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer, gone <-chan struct{}) error {
	s.out = newWriter(out)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		for next := range s.queue {
			next()
		}
	}()
	over := make(chan error, 1)
	go func() { over <- s.read(ctx, newLines(in)) }()
	var err error
	select {
	case err = <-over:
		close(s.queue)
		s.finish(ctx, worked, gone)
	case <-gone:
	case <-s.out.dead:
	case <-ctx.Done():
		err = ctx.Err()
	}
	cancel()
	s.busy.Wait()
	err = errors.Join(err, s.endSession(context.Background()))
	return errors.Join(err, s.out.end(lastTime))
}

// finish waits until what was asked for is done, for as long as somebody listens.
func (s *Server) finish(ctx context.Context, worked, gone <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-worked
		s.busy.Wait()
		s.running.Wait()
	}()
	select {
	case <-done:
	case <-gone:
	case <-s.out.dead:
	case <-ctx.Done():
	}
}

// lastTime is how long a client has to read what was told it last.
const lastTime = 3 * time.Second

// read takes requests until there are no more.
func (s *Server) read(ctx context.Context, from *lines) error {
	for {
		line, err := from.next()
		switch {
		case errors.Is(err, errOversized):
			s.answer(request{}, nil, &Problem{Code: CodeOversized, Message: err.Error()})
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading requests: %w", err)
		case len(line) == 0:
			continue
		}
		r, p := parse(line)
		if p == nil && s.ops[r.kind] == nil {
			p = &Problem{Code: CodeOperation, Field: "type", Message: fmt.Sprintf("there is no request %.100q", r.kind)}
		}
		if p != nil {
			s.answer(r, nil, p)
			continue
		}
		s.take(ctx, r)
	}
}

// take has a request carried out, in order or beside others.
func (s *Server) take(ctx context.Context, r request) {
	o := s.ops[r.kind]
	do := func() { s.carryOut(ctx, o, r) }
	beside := func(turns chan struct{}) {
		s.busy.Go(func() {
			defer func() { <-turns }()
			do()
		})
	}
	switch o.pace {
	case atOnce:
		select {
		case s.urgent <- struct{}{}:
			beside(s.urgent)
		default:
			s.answer(r, nil, &Problem{Code: CodeBusy, Message: fmt.Sprintf("%d such requests are carried out already; wait for one of them", maxBeside)})
		}
	case fromHere:
		s.inTurn(r, func() { // what comes after it waits for its turn as well
			select {
			case s.free <- struct{}{}:
				beside(s.free)
			case <-ctx.Done():
			}
		})
	default:
		s.inTurn(r, do)
	}
}

func (s *Server) inTurn(r request, do func()) {
	select {
	case s.queue <- do:
	default:
		s.answer(r, nil, &Problem{Code: CodeBusy, Message: fmt.Sprintf("%d requests wait already; wait for their answers", maxQueued)})
	}
}

// call is one request that is carried out.
type call struct {
	*Server
	meant *session // that it was for; nil for none
	after []func() // done when it has been answered
}

// carryOut answers one request. A fault in it ends nothing else.
func (s *Server) carryOut(ctx context.Context, o *Operation, r request) {
	c := &call{Server: s}
	c.meant, _ = s.active()
	out, err := func() (out any, err error) {
		defer func() {
			if p := recover(); p != nil {
				s.log.say("error", r.id, "%s: %v\n%s", o.Name, p, debug.Stack())
				err = fmt.Errorf("%s went wrong: %v", o.Name, p)
			}
		}()
		if err := c.guard(ctx, o); err != nil {
			return nil, err
		}
		return o.run(ctx, c, r.payload)
	}()
	if f := (*op.Fault)(nil); errors.As(err, &f) {
		s.log.say("error", r.id, "%s: %v\n%s", o.Name, f.Value, f.Stack)
	}
	if n := c.meant; err != nil && n != nil && !errors.As(err, new(*Problem)) && !n.entry.Alive() {
		err = invalid("session", "the workspace of the session has ended: %v", err)
	}
	s.answer(r, out, err)
	for _, do := range c.after {
		do()
	}
}

// guard refuses what the control of the session's workspace, or a pause of its project, does
// not allow, before anything is done. The supervisor looks again at what reaches it; this is
// for what does not, such as an undo.
func (c *call) guard(ctx context.Context, o *Operation) error {
	n := c.meant
	if n == nil || o.control.RefusedIn() == nil {
		return nil
	}
	r, err := n.entry.Call(ctx, api.Request{Op: api.OpStatus})
	if err != nil && n.hasEnded(ctx) {
		return nil // and what is under no control any more
	}
	if err != nil {
		return fmt.Errorf("asking workspace %s for its control: %w", n.entry.Name, err)
	}
	if d := o.control.Refuse(o.Name, n.entry.Name, r.Status); d != nil {
		return d
	}
	return nil
}

// answer writes the response to a request.
func (s *Server) answer(r request, payload any, err error) {
	a := response{Type: "response", ID: r.id, Status: "ok", Payload: payload}
	if len(a.ID) == 0 {
		a.ID = json.RawMessage("null")
	}
	if err != nil {
		a.Status, a.Payload, a.Error = "error", nil, problemOf(err)
		s.log.say("warn", r.id, "%.60s: %s: %s", r.kind, a.Error.Code, a.Error.Message)
	}
	s.out.line(a)
}

// emit writes an event.
func (s *Server) emit(name string, payload any) { s.out.line(event{"event." + name, payload}) }
