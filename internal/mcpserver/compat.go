package mcpserver

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"carrel/internal/api"
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

var aliases = []alias{
	{"workspace_guardrails", "mcp_action_catalog", nil, nil},
	{"mcp_agent_context", "mcp_session_brief", nil, nil},
	{"profile_path", "profile_read", map[string]any{"action": "path"}, nil},
	{"profile_list", "profile_read", map[string]any{"action": "list"}, nil},
	{"profile_get", "profile_read", map[string]any{"action": "get"}, nil},
	{"profile_check", "profile_read", map[string]any{"action": "check"}, nil},
	{"profile_template", "profile_read", map[string]any{"action": "template"}, map[string]string{"host_path": "project_path"}},
	{"profile_validate", "profile_read", map[string]any{"action": "validate"}, map[string]string{"json": "profile"}},
	{"profile_put", "profile_write", map[string]any{"action": "put"}, nil},
	{"profile_import", "profile_write", map[string]any{"action": "import"}, map[string]string{"json": "profile"}},
	{"profile_delete", "profile_write", map[string]any{"action": "delete"}, nil},
	{"mcp_control_state", "workspace_status", nil, theirs()},
	{"workspace_open_profile", "workspace_start", nil, theirs()},
	{"workspace_manifest", "workspace_status", map[string]any{"include": []string{"manifest"}}, theirs()},
	{"workspace_artifacts", "workspace_status", map[string]any{"include": []string{"artifacts"}}, theirs()},
	{"workspace_ipc_info", "workspace_status", nil, theirs()},
	{"workspace_env", "workspace_status", map[string]any{"include": []string{"policy"}}, theirs()},
	{"workspace_launch_app", "app_launch", nil, theirs("name", "app")},
	{"workspace_run_app", "app_launch", map[string]any{"wait": "exit"}, theirs("name", "app")},
	{"workspace_run_in_terminal", "app_launch", map[string]any{"wait": "terminal"}, theirs("title", "app")},
	{"workspace_terminal_read", "terminal_read", nil, theirs("terminal_id", "app")},
	{"workspace_terminal_input", "terminal_input", nil, theirs("terminal_id", "app")},
	{"workspace_list_apps", "app_list", nil, theirs()},
	{"workspace_wait_app", "app_wait", nil, theirs("app_id", "app")},
	{"workspace_kill_app", "app_kill", nil, theirs("app_id", "app")},
	{"workspace_read_app_log", "app_log", nil, theirs("app_id", "app")},
	{"workspace_events", "events", nil, theirs("since_sequence", "since")},
	{"workspace_observe", "observe", nil, theirs("events_since_sequence", "since")},
	{"workspace_screenshot", "screenshot", nil, theirs()},
	{"workspace_list_windows", "windows", nil, theirs("include_hidden", "all", "title_contains", "title", "class_contains", "class", "app_id", "app")},
	{"workspace_wait_window", "windows", map[string]any{"wait": true}, theirs("title_contains", "title", "class_contains", "class", "app_id", "app")},
	{"workspace_get_clipboard", "clipboard_get", nil, theirs()},
	{"workspace_set_clipboard", "clipboard_set", nil, theirs()},
}

// compat makes the entries of the set.
func compat() []Tool {
	ours := map[string]Tool{}
	for _, t := range Tools() {
		ours[t.Name] = t
	}
	var list []Tool
	for _, a := range aliases {
		list = append(list, a.tool(ours[a.of]))
	}
	return append(list, compatInput()...)
}

func (a alias) tool(of Tool) Tool {
	t := of
	t.Name, t.Set = a.name, setCompat
	back := map[string]string{} // ours to theirs
	for their, our := range a.called {
		back[our] = their
	}
	in := *of.In
	in.Properties, in.Required, in.PropertyOrder = map[string]*jsonschema.Schema{}, nil, nil
	for name, p := range of.In.Properties {
		if _, fixed := a.set[name]; fixed {
			continue
		}
		if their, ok := back[name]; ok {
			name = their
		}
		in.Properties[name] = p
	}
	for _, name := range of.In.Required {
		if _, fixed := a.set[name]; fixed {
			continue
		}
		if their, ok := back[name]; ok {
			name = their
		}
		in.Required = append(in.Required, name)
	}
	t.In = &in
	t.run = func(ctx context.Context, c *call, arguments json.RawMessage) (any, error) {
		given := map[string]json.RawMessage{}
		if err := t.decode(arguments, &given); err != nil {
			return nil, err
		}
		meant := map[string]any{}
		for name, value := range given {
			our, ok := a.called[name]
			if !ok {
				our = name
			}
			var part string
			if strings.HasSuffix(name, "_contains") && json.Unmarshal(value, &part) == nil { // ours are expressions
				meant[our] = quoteMeta(part)
				continue
			}
			meant[our] = value
		}
		maps.Copy(meant, a.set)
		text, err := json.Marshal(meant)
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
