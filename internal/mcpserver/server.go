package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/api"
	"carrel/internal/named"
	"carrel/internal/op"
	"carrel/internal/op/startop"
	"carrel/internal/supervisor"
	"carrel/internal/taskplan"
	"carrel/internal/tools"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options say what a server offers, and where.
type Options struct {
	Sets      []string     // of [Sets], or compat; empty for all but compat
	Workspace string       // its name; "" for one of this server's own, that ends with it
	Start     startop.Wish // for a workspace that does not run yet
	Display   bool         // it is started with a virtual display, where that can be had
	Headless  bool         // nothing is ever shown on the person's own desktop
	Ceiling   Ceiling      // the zero value is none
	Project   string       // canonical; what commands and relative paths are in
	Roots     []string     // directories beside it that the workspace may change; absolute
	Caller    *op.Caller
	Environ   []string
	Registry  []string // directories in which running workspaces are found
	State     string   // the state directory
	Version   string
	Log       io.Writer // for who has started it; never nil
}

// Ceiling is the most that anything asked for by this server may be given.
type Ceiling struct {
	Hash  string // of what it means; "" for none
	Shown taskplan.Permissions
}

// Server is what one client or several talk to.
type Server struct {
	opts  Options
	tools map[string]*Tool
	sdk   *sdk.Server
	turns chan struct{} // one for each call that works

	declined atomic.Bool   // the person was asked about a hidden desktop, and said no
	brief    chan struct{} // the same for those that wait for nothing

	starting chan struct{} // held by who starts a workspace

	mu      sync.Mutex
	started bool // the workspace by this server
	own     bool // and it ends with it
	closed  bool // nothing is started any more
}

// maxCalls is how many calls work at the same time; others wait for their turn. What
// shows, restricts and ends a workspace does not wait behind what it is to end.
const (
	maxCalls = 32
	maxBrief = 8
)

// New makes a server. Sets that do not exist are an error.
func New(o Options) (*Server, error) {
	s := &Server{opts: o, tools: map[string]*Tool{}, turns: make(chan struct{}, maxCalls), brief: make(chan struct{}, maxBrief), starting: make(chan struct{}, 1)}
	if s.opts.Workspace == "" {
		s.opts.Workspace, s.own = tools.OwnName(named.NameFor(o.Project), ownMark), true
	}
	list, err := offered(o.Sets)
	if err != nil {
		return nil, err
	}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "carrel", Title: "Carrel", Version: o.Version}, &sdk.ServerOptions{
		Instructions: s.instructions(),
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
		PageSize:     pageSize,
	})
	for i := range list {
		t := &list[i]
		if t.In == nil {
			return nil, fmt.Errorf("the tool %s has a parameter that cannot be described", t.Name)
		}
		s.tools[t.Name] = t
		s.sdk.AddTool(&sdk.Tool{Name: t.Name, Description: t.About, InputSchema: t.In, OutputSchema: outSchema(t), Annotations: annotations(t)}, s.handler(t))
	}
	return s, nil
}

// pageSize is how many tools a page of their list has: all, as simple clients ask for one.
const pageSize = 200

// Serve answers one client until it goes or ctx ends.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	defer s.Close()
	from, to := transport(in, out)
	done := make(chan error, 1)
	go func() { done <- s.sdk.Run(ctx, &sdk.IOTransport{Reader: from, Writer: to}) }()
	select {
	case err := <-done:
		return err
	case <-from.over:
	case <-ctx.Done():
	}
	select { // who does not read is not waited for
	case err := <-done:
		return err
	case <-time.After(closeTime):
		return ctx.Err()
	}
}

// Close ends what belongs to the server.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	if s.startAlone(ctx) == nil {
		defer s.startNext()
	}
	s.mu.Lock()
	ends := s.own // also where a start went wrong
	s.started, s.closed = false, true
	s.mu.Unlock()
	if !ends {
		return
	}
	e, ok, err := s.find(s.opts.Workspace)
	if err == nil && ok {
		if _, err = e.Call(ctx, api.Request{Op: api.OpStop}); err == nil {
			err = e.WaitEnd(ctx)
		}
	}
	if err == nil {
		err = named.RemoveFreed(ctx, s.opts.State, s.opts.Workspace)
	}
	if err != nil {
		fmt.Fprintf(s.opts.Log, "carrel: ending workspace %s: %v\n", s.opts.Workspace, err)
	}
}

// startAlone waits until nobody else starts a workspace; startNext lets the next one.
func (s *Server) startAlone(ctx context.Context) error {
	select {
	case s.starting <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		s.startNext()
		return errors.New("the server is ending")
	}
	return nil
}

func (s *Server) startNext() { <-s.starting }

func (s *Server) hasStarted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started
}

func (s *Server) setStarted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = true
}

// ownMark is in the names of servers' own workspaces.
const ownMark = "-mcp-"

// stopTime is how long the end of a workspace is waited for.
const stopTime = 15 * time.Second

func annotations(t *Tool) *sdk.ToolAnnotations {
	yes, no := true, false
	pick := func(b bool) *bool {
		if b {
			return &yes
		}
		return &no
	}
	return &sdk.ToolAnnotations{ReadOnlyHint: t.Effect == Looks, DestructiveHint: pick(t.Effect == Destroys), IdempotentHint: t.Idempotent, OpenWorldHint: pick(t.Open)}
}

// outSchema is the schema of structuredContent, nil where there is none.
func outSchema(t *Tool) any {
	switch {
	case t.shows:
		return nil
	case len(t.Out.Properties) == 0:
		return json.RawMessage(`{"type":"object"}`)
	}
	return t.Out
}

// handler makes the protocol's function of an entry.
func (s *Server) handler(t *Tool) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (r *sdk.CallToolResult, err error) {
		defer func() {
			if p := recover(); p != nil { // one call's fault ends no workspace
				fmt.Fprintf(s.opts.Log, "carrel: %s: %v\n%s", t.Name, p, debug.Stack())
				r, err = t.refusal(ctx, fmt.Errorf("%s went wrong: %v", t.Name, p)), nil
			}
		}()
		turns := s.turns
		if t.Brief {
			turns = s.brief
		}
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		case <-ctx.Done():
			return t.refusal(ctx, ctx.Err()), nil
		}
		c := &call{server: s, tool: t, req: req}
		if err := c.guard(ctx, req.Params.Arguments); err != nil {
			return t.refusal(ctx, err), nil
		}
		value, err := t.run(ctx, c, req.Params.Arguments)
		if f := (*op.Fault)(nil); errors.As(err, &f) {
			fmt.Fprintf(s.opts.Log, "carrel: %s: %v\n%s", t.Name, f.Value, f.Stack)
		}
		if q := asked(err); q != nil {
			return q.result(), nil
		}
		if err != nil {
			return t.refusal(ctx, err), nil
		}
		r = t.result(value)
		if len(c.ignored) > 0 {
			r.Content = append(r.Content, textOf("[without effect here: "+joined(c.ignored)+"]")...)
		}
		return r, nil
	}
}

// offered are the tools of the sets that were asked for.
func offered(sets []string) ([]Tool, error) {
	if len(sets) == 0 {
		sets = Sets
	}
	for _, set := range sets {
		if !slices.Contains(Sets, set) && set != setCompat {
			return nil, fmt.Errorf("there is no set of tools %q\nhint: there are %s, and %s", set, joined(Sets), setCompat)
		}
	}
	both := slices.Contains(sets, setCompat)
	list := slices.DeleteFunc(Tools(), func(t Tool) bool {
		return !slices.Contains(sets, t.Set) && !(both && slices.Contains(shared, t.Name))
	})
	if both {
		withTheirs(list)
		list = append(list, compat()...)
	}
	return list, nil
}

// find gives a running workspace.
func (s *Server) find(name string) (supervisor.Entry, bool, error) {
	entries, err := supervisor.Find(s.opts.Registry)
	for _, e := range entries {
		if e.Name == name {
			e.Ceiling = s.opts.Ceiling.Hash // each request says what it is held to
			return e, true, nil
		}
	}
	return supervisor.Entry{}, false, err
}
