package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"carrel/internal/api"
	"carrel/internal/op"
	"carrel/internal/op/profileop"
	"carrel/internal/taskplan"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// asPlanned are the tools that are offered, as plans and the catalog see them.
func (s *Server) asPlanned() []taskplan.Tool {
	var list []taskplan.Tool
	for _, name := range s.known() {
		list = append(list, planned(s.tools[name]))
	}
	return list
}

func planned(t *Tool) taskplan.Tool {
	p := taskplan.Tool{Name: t.Name, Category: t.Set, ReadOnly: t.Effect == Looks, Mutating: t.Effect != Looks, Destructive: t.Effect == Destroys, Idempotent: t.Idempotent, OpenWorld: t.Open, Control: string(t.Control)}
	for _, name := range slices.Sorted(slices.Values(keysOf(t.In))) {
		s := t.In.Properties[name]
		one := taskplan.Param{Name: name, Type: s.Type, Required: slices.Contains(t.In.Required, name)}
		for _, word := range s.Enum {
			if w, ok := word.(string); ok {
				one.Enum = append(one.Enum, w)
			}
		}
		p.Params = append(p.Params, one)
	}
	return p
}

type catalogIn struct {
	Tool string `json:"tool,omitempty" jsonschema:"only this one"`
}

func actionCatalog(_ context.Context, c *call, in catalogIn) (taskplan.ActionCatalog, error) {
	tools := c.server.asPlanned()
	if in.Tool != "" {
		tools = slices.DeleteFunc(tools, func(t taskplan.Tool) bool { return t.Name != in.Tool })
		if len(tools) == 0 {
			return taskplan.ActionCatalog{}, &api.Denial{Code: codeTool, Operation: c.tool.Name, Subject: in.Tool, Message: "there is no such tool here", Rule: "toolsets", Source: "built in", Hint: "there are: " + joined(c.server.known())}
		}
	}
	return taskplan.Catalog(tools), nil
}

func sessionBrief(ctx context.Context, c *call, _ struct{}) (taskplan.Briefing, error) {
	return taskplan.Brief(c.snapshot(ctx), c.server.asPlanned(), c.server.blockers(ctx)), nil
}

func taskPlan(ctx context.Context, c *call, in taskplan.Request) (taskplan.TaskPlan, error) {
	return taskplan.Plan(in, c.snapshot(ctx), c.server.asPlanned(), c.server.blockers(ctx)), nil
}

// snapshot is what there is. What cannot be found out is told, and the rest is as well.
func (c *call) snapshot(ctx context.Context) taskplan.Snapshot {
	s := c.server
	snap := taskplan.Snapshot{Headless: s.opts.Headless, Default: s.opts.Workspace, Permissions: s.permissions(),
		Viewer: taskplan.Viewer{Reason: "a person looks with `carrel desktop watch " + s.opts.Workspace + "`"}}
	trouble := func(err error) {
		if err != nil {
			snap.Problems = append(snap.Problems, err.Error())
		}
	}
	list, err := c.desks(ctx)
	trouble(err)
	for _, d := range list {
		w := taskplan.Workspace{Name: d.Name, Running: d.State == api.StateRunning || d.State == api.StatePaused, Purpose: d.Purpose, Profile: d.Profile, LastEvent: d.Events}
		for _, a := range d.Apps {
			w.Apps = append(w.Apps, taskplan.App{ID: a.ID, Name: a.Name, Running: a.Running})
		}
		for _, p := range d.Policy {
			if p.Dimension == "display" && p.Value != "none" {
				w.Display = p.Value
			}
		}
		snap.Workspaces = append(snap.Workspaces, w)
		if d.Name == s.opts.Workspace && w.Running {
			snap.Control = taskplan.Control{Mode: d.Control.Mode, UpdatedAt: d.Control.Since, UpdatedBy: d.Control.By, Reason: d.Control.Reason}
		}
	}
	profiles, err := op.Call(ctx, func() ([]profileop.Listed, error) { return profileop.List(s.opts.Caller) })
	trouble(err)
	for _, p := range profiles {
		snap.Profiles = append(snap.Profiles, taskplan.Profile{Name: p.Name, Description: string(p.Description), StartsApps: p.Apps > 0})
	}
	snap.Doctor = s.doctor(ctx, trouble)
	return snap
}

// doctor says in short what this machine can hold.
func (s *Server) doctor(ctx context.Context, trouble func(error)) taskplan.Doctor {
	report, err := op.Call(ctx, func() (op.Report, error) { return op.Examine(s.opts.Caller, false) })
	trouble(err)
	d := taskplan.Doctor{ReadyForWorkspace: len(report.Checks) > 0, ReadyForDisplay: len(report.Checks) > 0}
	for _, check := range report.Checks {
		bad := check.Status != "ok"
		if bad && check.Needed {
			d.ReadyForWorkspace = false
			d.Blockers = append(d.Blockers, check.Name+": "+check.Found)
		}
		if bad && check.ID == "display" {
			d.ReadyForDisplay = false
			d.Blockers = append(d.Blockers, check.Name+": "+check.Found)
		}
	}
	return d
}

func showPermissions(_ context.Context, c *call, _ struct{}) (taskplan.Permissions, error) {
	return c.server.permissions(), nil
}

// permissions is the ceiling in short.
func (s *Server) permissions() taskplan.Permissions {
	p := s.opts.Ceiling.Shown
	if p.Dimensions == nil {
		p.Dimensions = []taskplan.Dimension{}
	}
	if p.Advisories == nil {
		p.Advisories = []string{}
	}
	return p
}

// blockers says what of the ceiling stands against a call that a plan may hold: what
// starts a workspace, or saves a profile, is tried without doing it.
func (s *Server) blockers(ctx context.Context) taskplan.Blockers {
	if !s.permissions().Configured {
		return nil
	}
	tried := map[string][]string{}
	return func(tool string, arguments map[string]any) []string {
		t := s.tools[tool]
		if t == nil || tool != "workspace_start" && tool != "profile_write" || t.In.Properties["dry_run"] == nil {
			return nil
		}
		meant := maps.Clone(arguments)
		meant["dry_run"] = true
		text, err := json.Marshal(meant)
		if err != nil {
			return nil
		}
		if known, ok := tried[tool+string(text)]; ok {
			return known
		}
		var found []string
		_, err = t.run(ctx, &call{server: s, tool: t, req: &sdk.CallToolRequest{Params: &sdk.CallToolParamsRaw{}, Session: &sdk.ServerSession{}}}, text)
		var d *api.Denial
		if errors.As(err, &d) && d.Code == api.CodeCeiling {
			found = []string{d.Message}
		}
		tried[tool+string(text)] = found
		return found
	}
}
