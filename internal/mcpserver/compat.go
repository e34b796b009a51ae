package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/fileops"
	"carrel/internal/supervisor"

	"github.com/google/jsonschema-go/jsonschema"
)

// setCompat offers the tools under the names, and with the parameters, that
// agent-workspace-linux has for them. What they give is what ours give.
const setCompat = "compat"

// alias is a name for one of our tools, with some of its parameters set or called
// otherwise.
type alias struct {
	name, of string
	set      map[string]any    // what the name means
	called   map[string]string // their names of parameters to ours
	more     string            // parameters that ours do not have
	adapt    adapter           // uses them
	optional string            // parameters that ours need and theirs do not
	looks    bool              // it changes nothing, though ours may
}

// theirs are their names of parameters; all call the name of a workspace id.
func theirs(more ...string) map[string]string {
	m := map[string]string{"id": "name"}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return m
}

// shared are the names that both have.
var shared = []string{"mcp_permissions", "mcp_action_catalog", "mcp_session_brief", "mcp_task_plan", "mcp_control_update",
	"workspace_start", "workspace_status", "workspace_list", "workspace_stop", "workspace_cleanup_stale", "workspace_doctor", "profile_export"}

// Parameters that theirs have.
const (
	startMore  = "width height acknowledge_unenforced_policy open_viewer viewer_always_on_top"
	launchMore = "profile acknowledge_unenforced_policy"
)

// ours are the entries of shared names, which take our parameters and theirs.
func ours() []alias {
	return []alias{
		{name: "mcp_control_update", of: "mcp_control_update", called: theirs()},
		{name: "workspace_start", of: "workspace_start", called: theirs(), more: startMore, adapt: sized},
		{name: "workspace_status", of: "workspace_status", called: theirs()},
		{name: "workspace_stop", of: "workspace_stop", called: theirs(), more: "timeout_ms"},
		{name: "workspace_cleanup_stale", of: "workspace_cleanup_stale", called: theirs()},
	}
}

func aliases() []alias {
	return []alias{
		{name: "workspace_guardrails", of: "mcp_action_catalog"},
		{name: "mcp_agent_context", of: "mcp_session_brief",
			more: "workspace_id browser_timeout_ms"},
		{name: "profile_path", of: "profile_read", set: map[string]any{"action": "path"}},
		{name: "profile_list", of: "profile_read", set: map[string]any{"action": "list"}},
		{name: "profile_get", of: "profile_read", set: map[string]any{"action": "get"}},
		{name: "profile_check", of: "profile_read", set: map[string]any{"action": "check"}},
		{name: "profile_template", of: "profile_read", set: map[string]any{"action": "template"},
			called: map[string]string{"host_path": "project_path"}},
		{name: "profile_validate", of: "profile_write", set: map[string]any{"action": "import", "dry_run": true, "replace": true, "id": "checked"},
			called: map[string]string{"json": "profile"}, more: "json_path", adapt: profileFile, optional: "profile", looks: true},
		{name: "profile_put", of: "profile_write", set: map[string]any{"action": "put"},
			adapt: profileFile, optional: "id"},
		{name: "profile_import", of: "profile_write", set: map[string]any{"action": "import"}, called: map[string]string{"json": "profile"},
			more: "json_path", adapt: profileFile, optional: "id profile"},
		{name: "profile_delete", of: "profile_write", set: map[string]any{"action": "delete"}},
		{name: "mcp_control_state", of: "workspace_status", called: theirs()},
		{name: "workspace_open_profile", of: "workspace_start", called: theirs(),
			more: startMore + " run_setup setup_timeout_ms setup_kill_on_timeout startup_wait_window " +
				"startup_window_timeout_ms startup_screenshot_window", adapt: sized},
		{name: "workspace_manifest", of: "workspace_status", set: map[string]any{"include": []string{"manifest"}}, called: theirs()},
		{name: "workspace_artifacts", of: "workspace_status", set: map[string]any{"include": []string{"artifacts"}}, called: theirs(),
			more: "existing_only"},
		{name: "workspace_ipc_info", of: "workspace_status", called: theirs()},
		{name: "workspace_env", of: "workspace_status", set: map[string]any{"include": []string{"policy"}}, called: theirs()},
		{name: "workspace_launch_app", of: "app_launch", called: theirs("name", "app"),
			more: launchMore + " wait_window screenshot_window window_timeout_ms", adapt: launched},
		{name: "workspace_run_app", of: "app_launch", set: map[string]any{"wait": "exit"}, called: theirs("name", "app"),
			more: launchMore + " tail_bytes", adapt: launched},
		{name: "workspace_run_in_terminal", of: "app_launch", set: map[string]any{"wait": "terminal"}, called: theirs("terminal_id", "app"),
			more: launchMore + " title terminal_program wait_window window_timeout_ms", adapt: inTerminal, optional: "command"},
		{name: "workspace_terminal_read", of: "terminal_read", called: theirs("terminal_id", "app"),
			more: "preserve_trailing_spaces", adapt: ofTerminal, optional: "app"},
		{name: "workspace_terminal_input", of: "terminal_input", called: theirs("terminal_id", "app"),
			more: "delay_ms", adapt: ofTerminal, optional: "app"},
		{name: "workspace_wait_app", of: "app_wait", called: theirs("app_id", "app")},
		{name: "workspace_kill_app", of: "app_kill", called: theirs("app_id", "app")},
		{name: "workspace_read_app_log", of: "app_log", called: theirs("app_id", "app")},
		{name: "workspace_events", of: "events", called: theirs("since_sequence", "since")},
		{name: "workspace_observe", of: "observe", called: theirs("events_since_sequence", "since", "events_tail", "tail",
			"include_hidden", "all"),
			more: "output_path"},
		{name: "workspace_screenshot", of: "screenshot", called: theirs(),
			more: "output_path"},
		{name: "workspace_list_windows", of: "windows", called: theirs("include_hidden", "all", "title_contains", "title",
			"class_contains", "class", "app_id", "app")},
		{name: "workspace_wait_window", of: "windows", set: map[string]any{"wait": true}, called: theirs("title_contains", "title",
			"class_contains", "class", "app_id", "app")},
		{name: "workspace_get_clipboard", of: "clipboard_get", called: theirs()},
		{name: "workspace_set_clipboard", of: "clipboard_set", called: theirs()},
	}
}

// compat makes the entries of the set that are not ours by name.
func compat() []Tool {
	table := map[string]Tool{}
	for _, t := range Tools() {
		table[t.Name] = t
	}
	var list []Tool
	for _, a := range aliases() {
		t := a.tool(table[a.of])
		t.Set = setCompat
		list = append(list, t)
	}
	apps := define(Tool{Name: "workspace_list_apps", Set: setCompat, About: "What was started in a workspace.",
		Effect: Looks, Idempotent: true, Control: Observes, Brief: true}, listTheirApps)
	return append(append(list, apps), compatInput()...)
}

// withTheirs gives the entries of shared names their parameters beside ours.
func withTheirs(list []Tool) {
	for i, t := range list {
		for _, a := range ours() {
			if a.name != t.Name {
				continue
			}
			list[i] = a.tool(t)
			for name, p := range t.In.Properties {
				list[i].In.Properties[name] = p
			}
		}
	}
}

// schema is what an alias takes, of what ours takes.
func (a alias) schema(of *jsonschema.Schema) *jsonschema.Schema {
	back := map[string]string{} // ours to theirs
	for their, our := range a.called {
		back[our] = their
	}
	in := *of
	in.Properties, in.Required, in.PropertyOrder = map[string]*jsonschema.Schema{}, nil, nil
	for name, p := range of.Properties {
		if _, fixed := a.set[name]; fixed {
			continue
		}
		their := cmp.Or(back[name], name)
		in.Properties[their] = p
		if slices.Contains(of.Required, name) && !slices.Contains(strings.Fields(a.optional), name) {
			in.Required = append(in.Required, their)
		}
	}
	for name := range strings.FieldsSeq(a.more) {
		in.Properties[name] = cmp.Or(theirParameters()[name], noEffect()[name])
	}
	if in.Properties["env"] != nil {
		in.Properties["env"] = theirParameters()["env"]
	}
	slices.Sort(in.Required)
	return &in
}

func (a alias) tool(of Tool) Tool {
	t := of
	t.Name, t.In, t.ownID = a.name, a.schema(of.In), of.In.Properties["id"] != nil
	if a.looks {
		t.Effect, t.Control = Looks, Observes
	}
	t.run = func(ctx context.Context, c *call, arguments json.RawMessage) (any, error) {
		given := map[string]json.RawMessage{}
		if err := c.tool.decode(arguments, &given); err != nil {
			return nil, err
		}
		m := meaning{}
		for name, value := range given {
			our := cmp.Or(a.called[name], name)
			if _, twice := m[our]; twice {
				return nil, c.tool.badArguments(name, fmt.Sprintf("%s and %s say the same: give one of them", name, our))
			}
			var part string
			if strings.HasSuffix(name, "_contains") && json.Unmarshal(value, &part) == nil { // ours are expressions
				m[our] = quoteMeta(part)
				continue
			}
			m[our] = value
		}
		maps.Copy(m, a.set)
		if a.adapt != nil {
			if err := a.adapt(ctx, c, m); err != nil {
				var told *api.Denial
				if errors.As(err, &told) || errors.As(err, new(*fileops.Error)) {
					return nil, err
				}
				return nil, c.tool.badArguments("", err.Error())
			}
		}
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if of.In.Properties[name] == nil {
				c.ignored = append(c.ignored, name)
				delete(m, name)
			}
		}
		text, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		return of.run(ctx, c, text)
	}
	return t
}

// target is the window that an action of theirs is for: one by its id, or the one that
// fits.
type target struct {
	ID      string `json:"id,omitempty" jsonschema:"workspace"`
	Window  string `json:"window_id,omitempty"`
	Title   string `json:"title_contains,omitempty"`
	Class   string `json:"class_contains,omitempty"`
	PID     int    `json:"pid,omitempty"`
	App     string `json:"app_id,omitempty"`
	Timeout int    `json:"timeout_ms,omitempty"`
}

func (g *target) any() bool {
	return g.Window != "" || g.Title != "" || g.Class != "" || g.PID != 0 || g.App != ""
}

// window waits for the window that is meant.
func (c *call) window(ctx context.Context, e supervisor.Entry, g target) (*api.Window, error) {
	if g.Window != "" && (g.Title != "" || g.Class != "" || g.PID != 0 || g.App != "") {
		return nil, c.tool.badArguments("window_id", "a window is named by window_id, or by what fits it, not by both")
	}
	if !g.any() {
		return nil, c.tool.badArguments("window_id", "no window is named: window_id, or title_contains, class_contains, pid, app_id")
	}
	w, late, err := waitWindow(ctx, c, e, &api.Windows{Window: g.Window, Title: quoteMeta(g.Title), Class: quoteMeta(g.Class), PID: g.PID, App: g.App, Wait: true, Millis: g.Timeout})
	if err == nil && late {
		err = &api.Denial{Code: api.CodeTimeout, Operation: c.tool.Name, Subject: g.Window + g.Title + g.Class + g.App, Message: "no such window appeared in time", Rule: "windows", Source: "built in", Hint: "workspace_list_windows shows those that there are"}
	}
	return w, err
}

// theirInput is what their tools for mouse and keyboard take, each a part of it.
type theirInput struct {
	target
	X         *int   `json:"x,omitempty"`
	Y         *int   `json:"y,omitempty"`
	FromX     *int   `json:"from_x,omitempty"`
	FromY     *int   `json:"from_y,omitempty"`
	ToX       *int   `json:"to_x,omitempty"`
	ToY       *int   `json:"to_y,omitempty"`
	Button    int    `json:"button,omitempty"`
	Count     int    `json:"count,omitempty"`
	Direction string `json:"direction,omitempty"`
	Amount    int    `json:"amount,omitempty"`
	Key       string `json:"key,omitempty"`
	Text      string `json:"text,omitempty"`
}

var targetKeys = []string{"window_id", "title_contains", "class_contains", "pid", "app_id", "timeout_ms"}

// inputKinds are their tools, with what each takes and what it does. With the ending
// _window they are for a window, which gets the focus first, and count from its corner.
var inputKinds = []struct {
	name     string
	takes    []string // a ? behind what may be left out
	windowed bool
	steps    func(in *theirInput, at [2]int) []api.DesktopInput
}{
	{"click", []string{"x", "y", "button?", "count?"}, true, func(in *theirInput, at [2]int) []api.DesktopInput {
		return []api.DesktopInput{{Do: "click", At: point(in.X, in.Y, at), Button: in.Button, Count: in.Count}}
	}},
	{"move_pointer", []string{"x", "y"}, true, func(in *theirInput, at [2]int) []api.DesktopInput {
		return []api.DesktopInput{{Do: "move", At: point(in.X, in.Y, at)}}
	}},
	{"drag", []string{"from_x", "from_y", "to_x", "to_y", "button?"}, true, func(in *theirInput, at [2]int) []api.DesktopInput {
		return []api.DesktopInput{{Do: "drag", From: point(in.FromX, in.FromY, at), At: point(in.ToX, in.ToY, at), Button: in.Button}}
	}},
	{"scroll", []string{"x", "y", "direction", "amount?"}, true, func(in *theirInput, at [2]int) []api.DesktopInput {
		return []api.DesktopInput{{Do: "scroll", At: point(in.X, in.Y, at), Direction: in.Direction, Count: in.Amount}}
	}},
	{"key", []string{"key"}, true, func(in *theirInput, _ [2]int) []api.DesktopInput {
		return []api.DesktopInput{{Do: "key", Keys: in.Key}}
	}},
	{"type_text", []string{"text"}, false, func(in *theirInput, _ [2]int) []api.DesktopInput {
		return []api.DesktopInput{{Do: "type", Text: in.Text}}
	}},
	{"type", []string{"text"}, true, func(in *theirInput, _ [2]int) []api.DesktopInput {
		return []api.DesktopInput{{Do: "type", Text: in.Text}}
	}},
	{"paste_text", []string{"text", "key?"}, false, pasteSteps},
	{"paste", []string{"text", "key?"}, true, pasteSteps},
}

// pasteSteps press the keys for pasting, after the text was copied.
func pasteSteps(in *theirInput, _ [2]int) []api.DesktopInput {
	if in.Key == "" {
		in.Key = "ctrl+v"
	}
	return []api.DesktopInput{{Do: "key", Keys: in.Key}}
}

func point(x, y *int, at [2]int) *[2]int {
	if x == nil || y == nil {
		return nil
	}
	return &[2]int{*x + at[0], *y + at[1]}
}

// compatInput are their tools for mouse, keyboard and windows.
func compatInput() []Tool {
	var list []Tool
	for _, k := range inputKinds {
		base := Tool{Set: setCompat, Effect: Acts, Open: true, Control: WhenActive}
		run := func(ctx context.Context, c *call, in theirInput) (doneOut, error) {
			return c.theirStep(ctx, in, k.steps)
		}
		if k.name != "type" && k.name != "paste" { // those are for windows alone
			t := base
			t.Name, t.About = "workspace_"+k.name, "input: "+k.name+" on the screen."
			list = append(list, narrowed(define(t, run), append([]string{"id?"}, k.takes...)))
		}
		if k.windowed {
			t := base
			t.Name, t.About = "workspace_"+k.name+"_window", "input: "+k.name+" in a window."
			takes := append([]string{"id?"}, k.takes...)
			for _, key := range targetKeys {
				takes = append(takes, key+"?")
			}
			if k.name == "scroll" { // in the middle, where no place is said
				takes[1], takes[2] = "x?", "y?"
			}
			list = append(list, narrowed(define(t, run), takes))
		}
	}
	return append(list, compatWindows()...)
}

func (c *call) theirStep(ctx context.Context, in theirInput, steps func(*theirInput, [2]int) []api.DesktopInput) (doneOut, error) {
	e, err := c.desk(ctx, in.ID)
	if err != nil {
		return doneOut{}, err
	}
	var at [2]int
	if slices.Contains(keysOf(c.tool.In), "window_id") {
		w, err := c.window(ctx, e, in.target)
		if err != nil {
			return doneOut{}, err
		}
		if _, _, err := c.desktop(ctx, e, api.OpDesktopDo, &api.Desktop{Window: &api.WindowChange{Window: w.ID, Do: api.WindowFocus}}); err != nil {
			return doneOut{}, err
		}
		at = [2]int{w.Area[0], w.Area[1]}
		if in.Direction != "" && in.X == nil && in.Y == nil {
			in.X, in.Y = new(w.Area[2]/2), new(w.Area[3]/2)
		}
	}
	if in.Text != "" && slices.Contains(keysOf(c.tool.In), "key") { // pasting
		if _, err := setClipboard(ctx, c, copyIn{Named: Named{in.ID}, Text: in.Text}); err != nil {
			return doneOut{}, err
		}
	}
	said, _, err := c.desktop(ctx, e, api.OpDesktopDo, &api.Desktop{Steps: steps(&in, at)})
	return acted(said, err)
}

func keysOf(s *jsonschema.Schema) []string { return slices.Collect(maps.Keys(s.Properties)) }

// narrowed leaves an entry the parameters that are named; all without a ? are needed.
func narrowed(t Tool, takes []string) Tool {
	in := *t.In
	in.Properties, in.Required, in.PropertyOrder = map[string]*jsonschema.Schema{}, nil, nil
	for _, name := range takes {
		plain := name
		if plain[len(plain)-1] == '?' {
			plain = plain[:len(plain)-1]
		} else {
			in.Required = append(in.Required, name)
		}
		in.Properties[plain] = t.In.Properties[plain]
	}
	whole := t.run
	t.In = &in
	narrow := t
	t.run = func(ctx context.Context, c *call, arguments json.RawMessage) (any, error) {
		if err := narrow.decode(arguments, &map[string]json.RawMessage{}); err != nil {
			return nil, err
		}
		return whole(ctx, c, arguments)
	}
	return t
}
