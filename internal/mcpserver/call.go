package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"carrel/internal/api"
	"carrel/internal/fileops"
	"carrel/internal/named"
	"carrel/internal/op"
	"carrel/internal/op/startop"
	"carrel/internal/supervisor"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// call is one call of a tool.
type call struct {
	server *Server
	tool   *Tool
	req    *sdk.CallToolRequest

	ignored []string // parameters that had no effect
}

// named is the workspace that a call means.
func (c *call) named(name string) (string, error) {
	if name == "" {
		return c.server.opts.Workspace, nil
	}
	return name, named.CheckName(name)
}

// running gives the workspace of a name, which has to run.
func (c *call) running(name string) (supervisor.Entry, error) {
	name, err := c.named(name)
	if err != nil {
		return supervisor.Entry{}, err
	}
	e, ok, err := c.server.find(name)
	if err == nil && !ok {
		err = &api.Denial{Code: codeNotRunning, Operation: c.tool.Name, Subject: name, Message: fmt.Sprintf("workspace %q does not run", name), Rule: "registry", Source: "built in", Hint: "workspace_start starts one; workspace_list shows those that there are"}
	}
	return e, err
}

const codeNotRunning = "not-running"

// desk gives the workspace of a name; the server's own is started where it does not run.
func (c *call) desk(ctx context.Context, name string) (supervisor.Entry, error) {
	name, err := c.named(name)
	if err != nil || name != c.server.opts.Workspace {
		if err == nil {
			return c.running(name)
		}
		return supervisor.Entry{}, err
	}
	return c.server.ensure(ctx)
}

// ensure starts the server's workspace where it does not run.
func (s *Server) ensure(ctx context.Context) (supervisor.Entry, error) {
	name := s.opts.Workspace
	if e, ok, err := s.find(name); err != nil || ok {
		return e, err // a running one waits for no other that starts
	}
	if err := s.startAlone(ctx); err != nil {
		return supervisor.Entry{}, err
	}
	defer s.startNext()
	if e, ok, err := s.find(name); err != nil || ok {
		return e, err
	}
	if _, err := s.start(ctx, s.wish(name), s.opts.Display); err != nil {
		var d *api.Denial
		if errors.As(err, &d) && d.Code == api.CodeExists { // somebody was faster: it is used as it would be later
			if e, ok, err := s.find(name); err != nil || ok {
				return e, err
			}
		}
		return supervisor.Entry{}, err
	}
	s.setStarted()
	e, ok, err := s.find(name)
	if err == nil && !ok {
		err = fmt.Errorf("workspace %q was started, and has ended", name)
	}
	return e, err
}

// wish is what a workspace of this server is asked for with.
func (s *Server) wish(name string) startop.Wish {
	w := s.opts.Start
	w.Name = name
	if s.own && name == s.opts.Workspace { // also when nobody is left to end it
		w.Passing, w.Owner = true, os.Getpid()
	}
	return w
}

// start starts a workspace, with a display where the ceiling allows one.
func (s *Server) start(ctx context.Context, w startop.Wish, display bool) (*startop.Started, error) {
	return withDisplay(ctx, s.opts.Caller, w, display, func(r *startop.Request) (*startop.Started, error) {
		return startop.Start(ctx, s.opts.Caller, r)
	})
}

// withDisplay does what a wish is for, with a display where that is wanted, the ceiling allows one
// and the engine has one.
func withDisplay[T any](ctx context.Context, who *op.Caller, w startop.Wish, display bool, do func(*startop.Request) (T, error)) (T, error) {
	ask := func(w startop.Wish) (T, error) {
		return op.Call(ctx, func() (T, error) {
			r, err := w.Request(who)
			if err != nil {
				var none T
				return none, err
			}
			return do(r)
		})
	}
	if display {
		shown := w
		shown.Display = "virtual"
		got, err := ask(shown)
		var d *api.Denial
		if !errors.As(err, &d) || d.Code != api.CodeCeiling && d.Code != api.CodeNotHeld || d.Rule != "display" {
			return got, err
		}
	}
	return ask(w)
}

// blocked says whether a call changes something that a workspace under control keeps.
func (t *Tool) blocked(arguments json.RawMessage) bool {
	var said struct {
		DryRun bool   `json:"dry_run"`
		Output string `json:"output_path"`
	}
	_ = json.Unmarshal(arguments, &said)
	switch t.Control {
	case WhenActive:
		return true
	case OrDryRun:
		return !said.DryRun
	case op.OrInside:
		return !said.DryRun && said.Output != ""
	}
	return false
}

// guard refuses what the control of the workspace does not allow, before anything is
// done. Its supervisor looks again at what reaches it; this is for what does not.
func (c *call) guard(ctx context.Context, arguments json.RawMessage) error {
	var said struct {
		Name string `json:"name"`
		ID   string `json:"id"`
	}
	_ = json.Unmarshal(arguments, &said) // what is wrong with them, decode says
	if c.tool.In.Properties["id"] != nil && !c.tool.ownID && (c.tool.Set == setCompat || said.Name == "" && c.tool.In.Properties["name"] != nil) {
		said.Name = said.ID // theirs call it so
	}
	if !c.tool.blocked(arguments) {
		return nil
	}
	name, err := c.named(said.Name)
	if err != nil {
		return nil // decode says it
	}
	for _, name := range slices.Compact([]string{name, c.server.opts.Workspace}) {
		e, ok, err := c.server.find(name)
		if err != nil {
			continue
		}
		if !ok {
			if err := c.keptControl(ctx, said.Name, name); err != nil {
				return err
			}
			continue
		}
		r, err := e.Call(ctx, api.Request{Op: api.OpStatus})
		if err != nil && hasEnded(ctx, e) {
			continue // and what is under no control any more
		}
		if err != nil {
			return fmt.Errorf("asking workspace %s for its control: %w", name, err)
		}
		if d := c.tool.Control.Refuse(c.tool.Name, name, r.Status); d != nil {
			if d.Subject == name {
				d.Hint += "; mcp_control_update with mode active and confirmed_user_request true asks for it"
			}
			return d
		}
	}
	return nil
}

// keptControl refuses what a person's word stands against that was said to this server's
// workspace before it was stopped: who may stop one must not get around that word by it.
// The workspace itself starts as it ended, so that it can be given back.
func (c *call) keptControl(ctx context.Context, said, name string) error {
	s := c.server
	if name != s.opts.Workspace || s.own && !s.hasStarted() {
		return nil
	}
	if meant, err := c.named(said); err == nil && meant == name && c.tool.starts {
		return nil
	}
	list, err := s.opts.Caller.Desks(ctx)
	if err != nil {
		return fmt.Errorf("looking for the control of workspace %s: %w", name, err)
	}
	for _, d := range list {
		if d.Name == name && d.Control.Mode != "" && d.Control.Mode != api.ControlActive {
			return &api.Denial{Code: api.CodeControl, Operation: c.tool.Name, Subject: name, Rule: "control " + d.Control.Mode, Source: d.Control.By,
				Message: fmt.Sprintf("workspace %q was stopped under control %s, and nothing is changed meanwhile: %s", name, d.Control.Mode, d.Control.Reason),
				Hint:    "workspace_start brings it back as it was; then a person gives it back with `carrel control " + name + " active`"}
		}
	}
	return nil
}

// hasEnded says whether a supervisor that does not answer is ending.
func hasEnded(ctx context.Context, e supervisor.Entry) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return e.WaitEnd(ctx) == nil
}

// within makes a path that may be relative one of the project; ~ is the home directory.
func (c *call) within(path string) string {
	for _, v := range slices.Backward(c.server.opts.Environ) {
		if home, ok := strings.CutPrefix(v, "HOME="); ok && filepath.IsAbs(home) {
			path = fileops.InHome(path, home)
			break
		}
	}
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.server.opts.Project, path)
}

func joined(list []string) string { return strings.Join(list, ", ") }

// answer does an operation and puts what it gives into out, in the form that a tool has for it.
func answer[T any](ctx context.Context, operation string, out any, do func() (T, error)) error {
	got, err := op.Call(ctx, do)
	if err != nil {
		return err
	}
	return op.Into(operation, got, out)
}
