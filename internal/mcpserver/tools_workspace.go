package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"carrel/internal/api"
	"carrel/internal/named"
	"carrel/internal/op"
	"carrel/internal/op/startop"
	"carrel/internal/supervisor"
)

// Named is the parameter that most tools have.
type Named struct {
	Name string `json:"name,omitempty" jsonschema:"workspace; the default is this server's own"`
}

type startIn struct {
	Named
	Profile   string `json:"profile,omitempty" jsonschema:"start from this saved profile"`
	Purpose   string `json:"purpose,omitempty" jsonschema:"what it is for"`
	Network   string `json:"network,omitempty" jsonschema:"closed, local, filtered or open; at most what was granted"`
	Display   string `json:"display,omitempty" jsonschema:"virtual for a hidden desktop, or none"`
	Isolation string `json:"isolation,omitempty" jsonschema:"the least: process, kernel (gVisor) or vm"`
	Size      string `json:"size,omitempty" jsonschema:"of the desktop, WIDTHxHEIGHT"`
	DryRun    bool   `json:"dry_run,omitempty" jsonschema:"say what it would be, and start nothing"`
	Hidden    bool   `json:"acknowledge_hidden_workspace,omitempty" jsonschema:"the person knows that a desktop is used that they do not see"`
}

type startOut struct {
	Name     string          `json:"name"`
	Started  bool            `json:"started"`
	Already  bool            `json:"already_running"`
	DryRun   bool            `json:"dry_run"`
	Policy   []api.Decided   `json:"policy"`
	Notes    []string        `json:"notes"`
	Approval *approvalBundle `json:"approval,omitempty"`
}

// approvalBundle says what a person has to agree to before a workspace is started, and
// how that is told.
type approvalBundle struct {
	Action       string        `json:"action"`
	Subject      string        `json:"subject"`
	Approved     bool          `json:"approved"`
	WouldExecute bool          `json:"would_execute"`
	Required     []string      `json:"required_acknowledgements"`
	Missing      []string      `json:"missing_acknowledgements"`
	Flags        []string      `json:"approve_cli_flags"`
	Parameters   []namedAnswer `json:"approve_mcp_parameters"`
}

type namedAnswer struct {
	Name  string `json:"name"`
	Value bool   `json:"value"`
}

const ackHidden = "acknowledge_hidden_workspace"

// hiddenBundle is that of a workspace with a desktop that nobody sees. With a ceiling
// the person has decided before, in the file.
func (c *call) hiddenBundle(name string, in startIn) *approvalBundle {
	b := &approvalBundle{Action: "workspace_start", Subject: name, Approved: true, WouldExecute: !in.DryRun, Required: []string{}, Missing: []string{}, Flags: []string{}, Parameters: []namedAnswer{}}
	if c.server.opts.Ceiling.Hash != "" || in.Display == "none" {
		return b
	}
	b.Required, b.Parameters = []string{"hidden_workspace"}, []namedAnswer{{ackHidden, true}}
	if !in.Hidden {
		b.Missing, b.Approved, b.WouldExecute = b.Required, false, false
	}
	return b
}

func startWorkspace(ctx context.Context, c *call, in startIn) (startOut, error) {
	name, err := c.named(in.Name)
	if err != nil {
		return startOut{}, err
	}
	if err := named.CheckPurpose(in.Purpose); err != nil {
		return startOut{}, err
	}
	yes, answered := c.agreed(ackHidden)
	if answered {
		c.server.declined.Store(!yes) // a no is not talked away by the argument that comes after it
	}
	in.Hidden = in.Hidden && !c.server.declined.Load() || yes
	out := startOut{Name: name, DryRun: in.DryRun, Policy: []api.Decided{}, Notes: []string{}, Approval: c.hiddenBundle(name, in)}
	if !in.DryRun && !out.Approval.Approved && !answered && c.asks() {
		return out, &question{ackHidden, "Start the workspace " + name + " with a desktop that you do not see? `carrel desktop watch " + name + "` shows it."}
	}
	if !in.DryRun && c.server.declined.Load() && !out.Approval.Approved {
		return out, &api.Denial{Code: codeAcknowledge, Operation: c.tool.Name, Subject: name, Rule: ackHidden, Source: "the person", Message: "the person was asked about a desktop that they do not see, and said no", Hint: "display: none needs no agreement"}
	}
	if !in.DryRun && !out.Approval.Approved {
		return out, &api.Denial{Code: codeAcknowledge, Operation: c.tool.Name, Subject: name, Rule: ackHidden, Source: "built in", Message: "a workspace with a desktop that the person does not see needs their agreement, once",
			Hint: ackHidden + ": true says that it was given; display: none needs none"}
	}
	w := c.server.wish(name)
	w.Purpose, w.Network, w.Isolation, w.Size = in.Purpose, in.Network, in.Isolation, in.Size
	w.Profile, w.Display = cmp.Or(in.Profile, w.Profile), cmp.Or(in.Display, w.Display)
	display := in.Display == "" && c.server.opts.Display && in.Profile == ""
	if in.DryRun {
		d, err := withDisplay(ctx, c.server.opts.Caller, w, display, func(r *startop.Request) (*api.Desk, error) {
			return startop.Would(c.server.opts.Caller, r)
		})
		if err != nil {
			return out, err
		}
		out.Policy = d.Policy
		return out, nil
	}
	if err := c.server.startAlone(ctx); err != nil {
		return out, err
	}
	defer c.server.startNext()
	got, err := c.server.start(ctx, w, display)
	if err != nil {
		return out, err
	}
	if name == c.server.opts.Workspace && !got.Already {
		c.server.setStarted()
	}
	out.Started, out.Already, out.Policy, out.Notes = !got.Already, got.Already, got.Status.Policy, append(got.Announcements, got.Notes...)
	return out, nil
}

const codeAcknowledge = "acknowledge"

type listIn struct {
	Running *bool `json:"running,omitempty" jsonschema:"only those that run, or that have stopped"`
	paged
}

type listOut struct {
	Default    string   `json:"default"` // the one that is meant where none is named
	Workspaces []listed `json:"workspaces"`
	page
}

// listed is one workspace in a list; workspace_status says more.
type listed struct {
	Name      string    `json:"name"`
	State     string    `json:"state"`
	Project   string    `json:"project,omitempty"`
	Purpose   string    `json:"purpose,omitempty"`
	Control   string    `json:"control,omitempty"`   // where it is not active
	Isolation string    `json:"isolation,omitempty"` // none of an older version that has stopped
	Apps      int       `json:"apps_running"`
	Pending   int       `json:"approvals_waiting,omitempty"`
	Started   time.Time `json:"started,omitzero"`
	Stopped   time.Time `json:"stopped,omitzero"`
}

// usualList is how many workspaces a page has.
const usualList = 50

// desks are all workspaces of which this server may know.
func (c *call) desks(ctx context.Context) (all []api.Desk, err error) {
	all, err = c.server.opts.Caller.Desks(ctx)
	return slices.DeleteFunc(all, func(d api.Desk) bool { return !c.server.under(d.Ceiling) }), op.ForProgram(err)
}

func listWorkspaces(ctx context.Context, c *call, in listIn) (listOut, error) {
	out := listOut{Default: c.server.opts.Workspace}
	all, err := c.desks(ctx)
	all = slices.DeleteFunc(all, func(d api.Desk) bool {
		return in.Running != nil && *in.Running == (d.State == api.StateStopped)
	})
	slices.SortStableFunc(all, func(a, b api.Desk) int {
		if over := b.State == api.StateStopped; over != (a.State == api.StateStopped) {
			return map[bool]int{true: -1, false: 1}[over] // those that run come first
		}
		return b.Stopped.Compare(a.Stopped)
	})
	var list []listed
	for _, d := range all {
		l := listed{Name: d.Name, State: d.State, Project: d.Project, Purpose: d.Purpose, Pending: d.Pending, Started: d.Started,
			Isolation: d.Isolation, Stopped: d.Stopped}
		if d.Control.Mode != api.ControlActive {
			l.Control = d.Control.Mode
		}
		for _, a := range d.Apps {
			if a.Running {
				l.Apps++
			}
		}
		list = append(list, l)
	}
	out.Workspaces, out.page = pageOf(list, in.paged, usualList)
	return out, err
}

// under says whether a workspace is one that this server may know more of than its name:
// under a ceiling those that were started under the same.
func (s *Server) under(c *api.Ceiling) bool {
	return s.opts.Ceiling.Hash == "" || c != nil && c.Hash == s.opts.Ceiling.Hash
}

type statusIn struct {
	Named
	Include []string `json:"include,omitempty" jsonschema:"more of it: apps, policy, manifest, artifacts"`
}

type statusOut struct {
	Name      string               `json:"name"`
	Running   bool                 `json:"running"`
	Status    *api.WorkspaceStatus `json:"status,omitempty"`
	Apps      []api.App            `json:"apps,omitempty"`
	Manifest  *api.Desk            `json:"manifest,omitempty"`
	Artifacts []api.Artifact       `json:"artifacts,omitempty"`
}

func workspaceStatus(ctx context.Context, c *call, in statusIn) (statusOut, error) {
	name, err := c.named(in.Name)
	out := statusOut{Name: name}
	if err != nil {
		return out, err
	}
	e, ok, err := c.server.find(name)
	if err != nil {
		return out, err
	}
	if out.Running = ok; ok {
		r, err := e.Call(ctx, api.Request{Op: api.OpStatus})
		if err != nil {
			return out, err
		}
		if out.Status = r.Status; !slices.Contains(in.Include, "policy") {
			out.Status.Policy = nil
		}
		if slices.Contains(in.Include, "apps") {
			if out.Apps, err = e.Apps(ctx); err != nil {
				return out, err
			}
		}
	}
	if slices.Contains(in.Include, "manifest") {
		d, err := c.server.opts.Caller.Look(ctx, "manifest", name)
		out.Manifest = &d
		if err != nil {
			return out, op.ForProgram(err)
		}
		if !c.server.under(out.Manifest.Ceiling) {
			return statusOut{}, &api.Denial{Code: api.CodeCeiling, Operation: c.tool.Name, Subject: name, Rule: "ceiling", Source: c.server.opts.Ceiling.Shown.Source, Message: fmt.Sprintf("workspace %q was started under another ceiling, or none", name)}
		}
	}
	if slices.Contains(in.Include, "artifacts") {
		d, err := c.server.opts.Caller.Look(ctx, "artifacts", name)
		if err != nil {
			return out, op.ForProgram(err)
		}
		out.Artifacts = append([]api.Artifact{}, d.Artifact...)
	}
	return out, nil
}

type stopIn struct {
	Named
	DryRun bool `json:"dry_run,omitempty" jsonschema:"say what would end, and end nothing"`
}

type stopOut struct {
	Name    string    `json:"name"`
	Stopped bool      `json:"stopped"`
	DryRun  bool      `json:"dry_run"`
	Apps    []api.App `json:"apps"` // that ran
}

func stopWorkspace(ctx context.Context, c *call, in stopIn) (stopOut, error) {
	e, err := c.running(in.Name)
	out := stopOut{Name: e.Name, DryRun: in.DryRun, Apps: []api.App{}}
	if err != nil {
		return out, err
	}
	if apps, err := e.Apps(ctx); err == nil {
		out.Apps = append(out.Apps, slices.DeleteFunc(apps, func(a api.App) bool { return !a.Running })...)
	}
	if in.DryRun {
		return out, nil
	}
	if _, err := e.Call(ctx, api.Request{Op: api.OpStop}); err != nil {
		return out, err
	}
	out.Stopped = true
	return out, e.WaitEnd(ctx)
}

type cleanupOut struct {
	DryRun bool             `json:"dry_run"`
	Done   []map[string]any `json:"done"`
}

func cleanupWorkspaces(ctx context.Context, c *call, in stopIn) (cleanupOut, error) {
	out := cleanupOut{DryRun: in.DryRun, Done: []map[string]any{}}
	name := ""
	if in.Name != "" {
		var err error
		if name, err = c.named(in.Name); err != nil {
			return out, err
		}
	}
	done, err := op.Call(ctx, func() ([]op.Swept, error) { return c.server.opts.Caller.CleanUp(ctx, name, in.DryRun) })
	if err == nil {
		err = op.Into("cleanup", done, &out.Done)
	}
	return out, err
}

type eventsIn struct {
	Named
	Since uint64 `json:"since,omitempty" jsonschema:"only those after this number"`
	Tail  int    `json:"tail,omitempty" jsonschema:"at most so many, the newest; 100 by default, fewer where they are long"`
}

type eventsOut struct {
	Events []api.Event `json:"events"`
	Last   uint64      `json:"last"` // since of the next call
	Left   int         `json:"left_out"`
}

const (
	usualEvents = 100
	mostEvents  = 1000
)

func readEvents(ctx context.Context, c *call, in eventsIn) (eventsOut, error) {
	out := eventsOut{Events: []api.Event{}, Last: in.Since}
	e, err := c.running(in.Name)
	if err != nil {
		return out, err
	}
	most := min(in.Tail, mostEvents)
	if most <= 0 {
		most = usualEvents
	}
	err = e.Stream(ctx, (api.Request{Op: api.OpEvents, Since: in.Since}), func(r api.Reply) error {
		if r.Event == nil {
			return nil
		}
		out.Last = max(out.Last, r.Event.Seq)
		if out.Events = append(out.Events, *r.Event); len(out.Events) > most {
			out.Events, out.Left = slices.Delete(out.Events, 0, 1), out.Left+1
		}
		return nil
	})
	slices.Reverse(out.Events) // the newest are those that have room
	kept, _ := pageOf(out.Events, paged{}, most)
	out.Left += len(out.Events) - len(kept)
	slices.Reverse(kept)
	out.Events = kept
	return out, err
}

// active refuses what only an active workspace allows.
func (c *call) active(ctx context.Context, e supervisor.Entry) error {
	r, err := e.Call(ctx, api.Request{Op: api.OpStatus})
	if err == nil && r.Status.Control != nil && r.Status.Control.Mode != api.ControlActive {
		err = &api.Denial{Code: api.CodeControl, Operation: c.tool.Name, Subject: e.Name, Rule: "control " + r.Status.Control.Mode, Source: r.Status.Control.By, Message: fmt.Sprintf("workspace %q is under control %s", e.Name, r.Status.Control.Mode)}
	}
	return err
}
