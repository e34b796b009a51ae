package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"carrel/internal/api"
	"carrel/internal/supervisor"
	"carrel/internal/workspace"
)

// Named is the parameter that most tools have.
type Named struct {
	Name string `json:"name,omitempty" jsonschema:"workspace; the default is this server's own"`
}

// appOf names an app of a workspace.
type appOf struct {
	Named
	App string `json:"app" jsonschema:"its id, the beginning of it, or its name"`
}

type startIn struct {
	Named
	Profile string `json:"profile,omitempty" jsonschema:"start from this saved profile"`
	Purpose string `json:"purpose,omitempty" jsonschema:"what it is for"`
	Network string `json:"network,omitempty" jsonschema:"closed, local, filtered or open; at most what was granted"`
	Display string `json:"display,omitempty" jsonschema:"virtual for a hidden desktop, or none"`
	Size    string `json:"size,omitempty" jsonschema:"of the desktop, WIDTHxHEIGHT"`
	DryRun  bool   `json:"dry_run,omitempty" jsonschema:"say what it would be, and start nothing"`
	Hidden  bool   `json:"acknowledge_hidden_workspace,omitempty" jsonschema:"the person knows that a desktop is used that they do not see"`
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
	if err := workspace.CheckPurpose(in.Purpose); err != nil {
		return startOut{}, err
	}
	yes, answered := c.agreed(ackHidden)
	in.Hidden = in.Hidden || yes
	out := startOut{Name: name, DryRun: in.DryRun, Policy: []api.Decided{}, Notes: []string{}, Approval: c.hiddenBundle(name, in)}
	if !in.DryRun && !out.Approval.Approved && !answered && c.asks() {
		return out, &question{ackHidden, "Start the workspace " + name + " with a desktop that you do not see? `carrel watch " + name + "` shows it."}
	}
	if !in.DryRun && !out.Approval.Approved {
		return out, &api.Denial{Code: codeAcknowledge, Operation: c.tool.Name, Subject: name, Rule: ackHidden, Source: "built in", Message: "a workspace with a desktop that the person does not see needs their agreement, once",
			Hint: ackHidden + ": true says that it was given; display: none needs none"}
	}
	args := append([]string{"start", "--json"}, c.server.opts.Start...)
	for flag, value := range map[string]string{"profile": in.Profile, "purpose": in.Purpose, "network": in.Network, "display": in.Display, "size": in.Size} {
		if value != "" {
			args = append(args, "--"+flag+"="+value)
		}
	}
	slices.Sort(args[2:])
	if in.Display == "" && c.server.opts.Display && in.Profile == "" {
		args = append(args, "--display=virtual")
	}
	if in.DryRun {
		var d api.Desk
		if err := c.server.carrel(ctx, nil, &d, append(args, "--dry-run", "--", name)...); err != nil {
			return out, err
		}
		out.Policy = d.Policy
		return out, nil
	}
	var got struct {
		workspace.Ready
		Already bool `json:"already_running"`
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if err := c.server.carrel(ctx, nil, &got, append(args, "--", name)...); err != nil {
		return out, err
	}
	if name == c.server.opts.Workspace && !got.Already {
		c.server.started = true
	}
	out.Started, out.Already, out.Policy, out.Notes = !got.Already, got.Already, got.Status.Policy, append(got.Announcements, got.Notes...)
	return out, nil
}

const codeAcknowledge = "acknowledge"

type listOut struct {
	Default    string     `json:"default"` // the one that is meant where none is named
	Workspaces []api.Desk `json:"workspaces"`
}

func listWorkspaces(ctx context.Context, c *call, _ struct{}) (listOut, error) {
	out := listOut{Default: c.server.opts.Workspace, Workspaces: []api.Desk{}}
	err := c.server.carrel(ctx, nil, &out.Workspaces, "list", "--json")
	return out, err
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
	for _, what := range in.Include {
		if !slices.Contains([]string{"apps", "policy", "manifest", "artifacts"}, what) {
			return out, c.tool.badArguments("include", fmt.Sprintf("%q cannot be included: apps, policy, manifest, artifacts", what))
		}
	}
	e, ok, err := c.server.find(name)
	if err != nil {
		return out, err
	}
	if out.Running = ok; ok {
		r, err := c.ask(ctx, e, api.Request{Op: api.OpStatus})
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
		out.Manifest = &api.Desk{}
		if err := c.server.carrel(ctx, nil, out.Manifest, "manifest", "--json", "--", name); err != nil {
			return out, err
		}
	}
	if slices.Contains(in.Include, "artifacts") {
		if err := c.server.carrel(ctx, nil, &out.Artifacts, "artifacts", "--json", "--", name); err != nil {
			return out, err
		}
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
	args := []string{"cleanup", "--json"}
	if in.DryRun {
		args = append(args, "--dry-run")
	}
	if in.Name != "" {
		name, err := c.named(in.Name)
		if err != nil {
			return out, err
		}
		args = append(args, "--", name)
	}
	err := c.server.carrel(ctx, nil, &out.Done, args...)
	return out, err
}

type eventsIn struct {
	Named
	Since uint64 `json:"since,omitempty" jsonschema:"only those after this number"`
	Tail  int    `json:"tail,omitempty" jsonschema:"at most so many, the newest; 100 by default"`
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
	err = e.Stream(ctx, c.server.sealed(api.Request{Op: api.OpEvents, Since: in.Since}), func(r api.Reply) error {
		if r.Event == nil {
			return nil
		}
		out.Last = max(out.Last, r.Event.Seq)
		if out.Events = append(out.Events, *r.Event); len(out.Events) > most {
			out.Events, out.Left = slices.Delete(out.Events, 0, 1), out.Left+1
		}
		return nil
	})
	return out, err
}

type launchIn struct {
	Named
	Command []string `json:"command" jsonschema:"program and arguments; no shell"`
	App     string   `json:"app,omitempty" jsonschema:"call it so"`
	Cwd     string   `json:"cwd,omitempty" jsonschema:"directory inside"`
	Env     []string `json:"env,omitempty" jsonschema:"each as NAME=VALUE"`
	Wait    string   `json:"wait,omitempty" jsonschema:"none, exit, window, or terminal for one with a screen"`
	Timeout int      `json:"timeout_ms,omitempty" jsonschema:"of the waiting; 30000 by default"`
	Kill    bool     `json:"kill_on_timeout,omitempty" jsonschema:"end it when the time is over"`
	DryRun  bool     `json:"dry_run,omitempty" jsonschema:"say what would be started, and start nothing"`
}

type appOut struct {
	App      *api.App    `json:"app,omitempty"`
	Window   *api.Window `json:"window,omitempty"`
	TimedOut bool        `json:"timed_out,omitempty"`
	Killed   bool        `json:"killed,omitempty"`
	DryRun   bool        `json:"dry_run,omitempty"`
	Command  []string    `json:"command,omitempty"`
}

func launchApp(ctx context.Context, c *call, in launchIn) (appOut, error) {
	out := appOut{DryRun: in.DryRun}
	if len(in.Command) == 0 {
		return out, c.tool.badArguments("command", "command is empty: a program and its arguments")
	}
	if !slices.Contains([]string{"", "none", "exit", "window", "terminal"}, in.Wait) {
		return out, c.tool.badArguments("wait", fmt.Sprintf("wait is none, exit, window or terminal, not %q", in.Wait))
	}
	if in.DryRun {
		out.Command = in.Command
		return out, nil
	}
	e, err := c.desk(ctx, in.Name)
	if err != nil {
		return out, err
	}
	op := api.OpLaunch
	if in.Wait == "terminal" {
		op = api.OpTerminal
	}
	r, err := c.ask(ctx, e, api.Request{Op: op, Command: &api.Command{Name: in.App, Argv: in.Command, Dir: c.within(in.Cwd), Env: in.Env}})
	if err != nil {
		return out, err
	}
	out.App = r.App
	switch in.Wait {
	case "exit":
		return waitFor(ctx, c, e, r.App.ID, in.Timeout, in.Kill)
	case "window":
		out.Window, out.TimedOut, err = waitWindow(ctx, c, e, &api.Windows{App: r.App.ID, Wait: true, Millis: in.Timeout})
	}
	return out, err
}

type waitIn struct {
	appOf
	Timeout int  `json:"timeout_ms,omitempty" jsonschema:"30000 by default"`
	Kill    bool `json:"kill_on_timeout,omitempty" jsonschema:"end it when the time is over"`
}

func waitApp(ctx context.Context, c *call, in waitIn) (appOut, error) {
	e, err := c.running(in.Name)
	if err != nil {
		return appOut{}, err
	}
	if in.Kill {
		if err := c.active(ctx, e); err != nil {
			return appOut{}, err
		}
	}
	return waitFor(ctx, c, e, in.App, in.Timeout, in.Kill)
}

const usualWait = 30 * time.Second

func millis(n int) time.Duration {
	if n <= 0 {
		return usualWait
	}
	return time.Duration(min(n, int(time.Hour/time.Millisecond))) * time.Millisecond
}

// waitFor waits for the end of an app; what is not over in time is no error.
func waitFor(ctx context.Context, c *call, e supervisor.Entry, app string, timeout int, kill bool) (out appOut, err error) {
	limited, cancel := context.WithTimeout(ctx, millis(timeout))
	defer cancel()
	r, err := c.ask(limited, e, api.Request{Op: api.OpWait, App: app})
	if err == nil {
		out.App = r.App
		return out, nil
	}
	if ctx.Err() != nil || !errors.Is(limited.Err(), context.DeadlineExceeded) {
		return out, err
	}
	out.TimedOut = true
	if kill {
		out.Killed = true
		r, err = c.ask(ctx, e, api.Request{Op: api.OpKill, App: app})
		out.App = r.App
		return out, err
	}
	apps, err := e.Apps(ctx)
	for i := range apps {
		if apps[i].ID == app || apps[i].Name == app {
			out.App = &apps[i]
		}
	}
	return out, err
}

type killIn struct {
	appOf
	DryRun bool `json:"dry_run,omitempty" jsonschema:"say what would end, and end nothing"`
}

func killApp(ctx context.Context, c *call, in killIn) (appOut, error) {
	e, err := c.running(in.Name)
	if err != nil {
		return appOut{}, err
	}
	if in.DryRun {
		apps, err := e.Apps(ctx)
		for i := range apps {
			if apps[i].ID == in.App || apps[i].Name == in.App {
				return appOut{App: &apps[i], DryRun: true}, nil
			}
		}
		if err == nil {
			err = &api.Denial{Code: api.CodeNoApp, Operation: c.tool.Name, Subject: in.App, Message: "there is no such app", Rule: "apps", Source: "built in", Hint: "app_list shows them"}
		}
		return appOut{}, err
	}
	r, err := c.ask(ctx, e, api.Request{Op: api.OpKill, App: in.App})
	return appOut{App: r.App}, err
}

type appsIn struct {
	Named
	Running *bool `json:"running,omitempty" jsonschema:"only those that run, or that have ended"`
}

type appsOut struct {
	Apps []api.App `json:"apps"`
}

func listApps(ctx context.Context, c *call, in appsIn) (appsOut, error) {
	out := appsOut{Apps: []api.App{}}
	e, err := c.running(in.Name)
	if err != nil {
		return out, err
	}
	apps, err := e.Apps(ctx)
	for _, a := range apps {
		if in.Running == nil || a.Running == *in.Running {
			out.Apps = append(out.Apps, a)
		}
	}
	return out, err
}

type logIn struct {
	appOf
	Stream string `json:"stream,omitempty" jsonschema:"stdout or stderr; both by default"`
	Tail   int64  `json:"tail_bytes,omitempty" jsonschema:"at most so much of the end of each; 16384 by default"`
	Since  uint64 `json:"since,omitempty" jsonschema:"from this place on"`
}

type logOut struct {
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
	Next   uint64 `json:"next"` // since of the next call
	Lost   uint64 `json:"lost"` // bytes that are kept no more
}

const (
	usualLog = 16 << 10
	mostLog  = 256 << 10
)

func readLog(ctx context.Context, c *call, in logIn) (logOut, error) {
	var out logOut
	name, err := c.named(in.Name)
	if err != nil {
		return out, err
	}
	if in.Tail <= 0 {
		in.Tail = usualLog
	}
	in.Tail = min(in.Tail, mostLog)
	req := api.Request{Op: api.OpLogs, App: in.App, Stream: in.Stream, Tail: in.Tail, Since: in.Since}
	text := map[string][]byte{}
	add := func(o *api.Output) {
		text[o.Stream] = append(text[o.Stream], o.Data...)
		out.Next, out.Lost = max(out.Next, o.At+uint64(len(o.Data))), out.Lost+o.Lost
	}
	e, ok, err := c.server.find(name)
	if err != nil {
		return out, err
	}
	if !ok {
		return out, c.stoppedLog(ctx, name, in, add, &out, text)
	}
	err = e.Stream(ctx, c.server.sealed(req), func(r api.Reply) error {
		if r.Output != nil {
			add(r.Output)
		}
		return nil
	})
	out.Stdout, out.Stderr = string(text[api.StreamStdout]), string(text[api.StreamStderr])
	return out, err
}

// stoppedLog reads what an app of a workspace has written that runs no more.
func (c *call) stoppedLog(ctx context.Context, name string, in logIn, add func(*api.Output), out *logOut, text map[string][]byte) error {
	args := []string{"logs", "--json", "--tail=" + strconv.FormatInt(in.Tail, 10)}
	if in.Stream != "" {
		args = append(args, "--stream="+in.Stream)
	}
	err := c.server.carrelLines(ctx, func(o api.Output) { add(&o) }, append(args, "--", name, in.App)...)
	out.Stdout, out.Stderr = string(text[api.StreamStdout]), string(text[api.StreamStderr])
	return err
}

// active refuses what only an active workspace allows.
func (c *call) active(ctx context.Context, e supervisor.Entry) error {
	r, err := c.ask(ctx, e, api.Request{Op: api.OpStatus})
	if err == nil && r.Status.Control != nil && r.Status.Control.Mode != api.ControlActive {
		err = &api.Denial{Code: api.CodeControl, Operation: c.tool.Name, Subject: e.Name, Rule: "control " + r.Status.Control.Mode, Source: r.Status.Control.By, Message: fmt.Sprintf("workspace %q is under control %s", e.Name, r.Status.Control.Mode)}
	}
	return err
}
