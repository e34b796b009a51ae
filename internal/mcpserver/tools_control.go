package mcpserver

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/op"
)

type controlIn struct {
	Named
	Mode      string `json:"mode" jsonschema:"active, read_only or paused"`
	Reason    string `json:"reason,omitempty" jsonschema:"shown to those who are refused"`
	Confirmed bool   `json:"confirmed_user_request,omitempty" jsonschema:"active: the person wants it; they are asked by an approval"`
}

type controlOut struct {
	Name     string        `json:"name"`
	Control  *api.Control  `json:"control,omitempty"`
	Pending  bool          `json:"pending,omitempty"`  // it waits for a person
	Approval *api.Approval `json:"approval,omitempty"` // under which approvals lists it
}

// controlModes are the words for the modes, with those that others use.
var controlModes = map[string]string{"active": api.ControlActive, "run": api.ControlActive, "running": api.ControlActive,
	"read_only": api.ControlReadOnly, "read-only": api.ControlReadOnly, "readonly": api.ControlReadOnly, "ro": api.ControlReadOnly,
	"paused": api.ControlPaused, "pause": api.ControlPaused}

func updateControl(ctx context.Context, c *call, in controlIn) (controlOut, error) {
	mode := controlModes[strings.ToLower(in.Mode)]
	e, err := c.running(in.Name)
	if err != nil {
		return controlOut{}, err
	}
	out := controlOut{Name: e.Name}
	r, err := e.Call(ctx, api.Request{Op: api.OpStatus})
	if err != nil {
		return out, err
	}
	if out.Control = r.Status.Control; out.Control != nil && out.Control.Mode == mode {
		return out, nil
	}
	if mode == api.ControlActive {
		if !in.Confirmed {
			return out, &api.Denial{Code: api.CodeNotHuman, Operation: c.tool.Name, Subject: e.Name, Rule: "control", Source: "built in", Message: "a workspace is given back by a person",
				Hint: "`carrel control " + e.Name + " active` at a terminal; confirmed_user_request true has them asked"}
		}
		r, err := e.Call(ctx, api.Request{Op: api.OpAsk, Mode: mode, Reason: in.Reason})
		if r.Control != nil {
			out.Control = r.Control
		}
		out.Approval, out.Pending = r.Approval, r.Approval != nil
		return out, err
	}
	r, err = e.Call(ctx, api.Request{Op: api.OpControl, Mode: mode, Reason: in.Reason})
	out.Control = r.Control
	return out, err
}

type pauseIn struct {
	Reason string `json:"reason,omitempty" jsonschema:"shown to those who are refused"`
}

type pauseOut struct {
	Project    string            `json:"project"`
	Paused     *api.ProjectPause `json:"paused"`
	Workspaces []map[string]any  `json:"workspaces"` // that ran
}

func pauseProject(ctx context.Context, c *call, in pauseIn) (pauseOut, error) {
	out := pauseOut{Workspaces: []map[string]any{}}
	done, err := op.Call(ctx, func() (*op.ProjectHeld, error) {
		return c.server.opts.Caller.PauseProject(ctx, c.server.opts.Project, in.Reason)
	})
	if done == nil {
		return out, err
	}
	return out, cmp.Or(err, op.Into("pause", done, &out))
}

type approvalsIn struct {
	Deny string `json:"deny,omitempty" jsonschema:"refuse the one with this id; approving takes a person at a terminal"`
}

type approvalsOut struct {
	Waiting []api.Approval `json:"waiting"`
	Denied  string         `json:"denied,omitempty"`
}

func approvals(ctx context.Context, c *call, in approvalsIn) (approvalsOut, error) {
	out := approvalsOut{Waiting: []api.Approval{}}
	if in.Deny != "" {
		if strings.Trim(in.Deny, "0123456789abcdef") != "" {
			return out, c.tool.badArguments("deny", "deny is the id of an approval")
		}
		if _, err := c.server.opts.Caller.Deny(ctx, in.Deny); err != nil {
			return out, op.ForProgram(err)
		}
		out.Denied = in.Deny
	}
	list, _, err := c.server.opts.Caller.Waiting(ctx)
	if err == nil {
		out.Waiting = list
	}
	return out, op.ForProgram(err)
}

type doctorOut struct {
	Report map[string]any `json:"report"`
}

func doctor(ctx context.Context, c *call, _ struct{}) (doctorOut, error) {
	var out doctorOut
	return out, answer(ctx, "doctor", &out.Report, func() (op.Report, error) { return op.Examine(c.server.opts.Caller, false) })
}

// instructions are what a client may tell its model of this server.
func (s *Server) instructions() string {
	text := "Tools of a workspace that is private to you: walls, a hidden desktop, and a history in which every change of files is a step that undo takes back. " +
		"A refusal says by code what stands against it; do not try ways around it. What only a person may widen waits for them in approvals."
	if s.opts.Ceiling.Hash != "" {
		text += " A ceiling holds for as long as this server runs: mcp_permissions shows it."
	}
	return text
}

// known are the names of sets with which a call was made, for errors.
func (s *Server) known() []string {
	names := make([]string, 0, len(s.tools))
	for name := range s.tools {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
