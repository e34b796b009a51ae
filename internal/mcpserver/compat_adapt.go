package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"carrel/internal/api"
	"carrel/internal/fileops"

	"github.com/google/jsonschema-go/jsonschema"
)

// meaning is what a call of theirs says in our words; what has none is under their name.
type meaning map[string]any

// take gives a value that an adapter turns into something else.
func (m meaning) take(name string, into any) (given bool, err error) {
	value, ok := m[name]
	if !ok {
		return false, nil
	}
	delete(m, name)
	raw, ok := value.(json.RawMessage)
	if !ok {
		return false, nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	return true, nil
}

// adapter turns what is said in other words.
type adapter func(ctx context.Context, c *call, m meaning) error

// sized has the desktop's size as two numbers.
func sized(_ context.Context, _ *call, m meaning) error {
	width, height := 1280, 720
	wide, err := m.take("width", &width)
	if err != nil {
		return err
	}
	high, err := m.take("height", &height)
	if wide || high {
		m["size"] = fmt.Sprintf("%dx%d", width, height)
	}
	return err
}

// launched has what is waited for as truths, and variables as objects.
func launched(ctx context.Context, c *call, m meaning) error {
	var window, picture bool
	if _, err := m.take("wait_window", &window); err != nil {
		return err
	}
	if _, err := m.take("screenshot_window", &picture); err != nil {
		return err
	}
	if window || picture {
		m["wait"] = "window"
	}
	if limit, ok := m["window_timeout_ms"]; ok {
		delete(m, "window_timeout_ms")
		if window || picture {
			m["timeout_ms"] = limit
		}
	}
	if err := variables(m); err != nil {
		return err
	}
	return sameProfile(ctx, c, m)
}

func variables(m meaning) error {
	raw, ok := m["env"].(json.RawMessage)
	if !ok {
		return nil
	}
	var theirs []struct{ Name, Value string }
	if json.Unmarshal(raw, &theirs) != nil {
		return nil // they are ours, or the tool says what is wrong
	}
	env := []string{}
	for _, v := range theirs {
		env = append(env, v.Name+"="+v.Value)
	}
	m["env"] = env
	return nil
}

// sameProfile refuses a profile that is not the workspace's: here it has one for its life.
func sameProfile(ctx context.Context, c *call, m meaning) error {
	var profile, said string
	given, err := m.take("profile", &profile)
	if err != nil || !given {
		return err
	}
	if raw, ok := m["name"].(json.RawMessage); ok {
		_ = json.Unmarshal(raw, &said) // what is wrong with it, the tool says
	}
	name, err := c.named(said)
	if err != nil {
		return err
	}
	if c.hasProfile(ctx, name, profile) {
		return nil
	}
	d := c.tool.denial("profile", fmt.Sprintf("workspace %q was not started with profile %q, and a program is given no other", name, profile))
	d.Hint = "workspace_open_profile starts one with it"
	return d
}

func (c *call) hasProfile(ctx context.Context, name, profile string) bool {
	list, _ := c.desks(ctx) // what cannot be looked at has none
	return slices.ContainsFunc(list, func(d api.Desk) bool { return d.Name == name && d.Profile == profile })
}

// inTerminal has a name for the terminal, and a shell where no command is given.
func inTerminal(ctx context.Context, c *call, m meaning) error {
	usualTerminal(m)
	if raw, given := m["command"].(json.RawMessage); !given || string(raw) == "[]" {
		m["command"] = []string{"/bin/sh", "-c", `exec "${SHELL:-/bin/sh}"`}
	}
	if err := variables(m); err != nil {
		return err
	}
	return sameProfile(ctx, c, m)
}

func usualTerminal(m meaning) {
	if _, given := m["app"]; !given {
		m["app"] = "terminal"
	}
}

func ofTerminal(_ context.Context, _ *call, m meaning) error {
	usualTerminal(m)
	return nil
}

// profileFile has a profile in a file, which is read as the workspace's programs see it,
// or as an object, which says its own name.
func profileFile(ctx context.Context, c *call, m meaning) error {
	var path, text string
	if given, err := m.take("json_path", &path); err != nil {
		return err
	} else if given {
		got, _, err := file[fileops.FileContent](ctx, c, &fileops.ReadFile{Path: fileops.Path(path)})
		if err != nil {
			return err
		}
		if got.Truncated || got.Encoding != fileops.UTF8 {
			return c.tool.badArguments("json_path", fmt.Sprintf("%q holds no profile: %d bytes, %s", path, got.Size, got.Kind))
		}
		text = got.Content
	} else if raw, ok := m["profile"].(json.RawMessage); ok && strings.HasPrefix(strings.TrimSpace(string(raw)), "{") {
		text, m["action"] = string(raw), "import"
	}
	if text == "" {
		return nil
	}
	m["profile"] = text
	if _, named := m["id"]; named {
		return nil
	}
	var said struct{ ID string }
	if json.Unmarshal([]byte(text), &said); said.ID == "" {
		said.ID = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	m["id"] = said.ID
	return nil
}

// theirApps are the filters of their list of apps.
type theirApps struct {
	ID      string `json:"id,omitempty" jsonschema:"workspace"`
	App     string `json:"app_id,omitempty"`
	Name    string `json:"name_contains,omitempty"`
	Command string `json:"command_contains,omitempty"`
	Profile string `json:"profile_id,omitempty"`
	Running *bool  `json:"running,omitempty"`
	paged
}

func listTheirApps(ctx context.Context, c *call, in theirApps) (appsOut, error) {
	out := appsOut{Apps: []api.App{}}
	e, err := c.running(in.ID)
	if err != nil {
		return out, err
	}
	if in.Profile != "" && !c.hasProfile(ctx, e.Name, in.Profile) {
		return out, nil
	}
	apps, err := e.Apps(ctx)
	for _, a := range apps {
		fits := (in.App == "" || a.ID == in.App || a.Name == in.App) && strings.Contains(a.Name, in.Name) &&
			strings.Contains(strings.Join(a.Argv, " "), in.Command) && (in.Running == nil || *in.Running == a.Running)
		if fits {
			out.Apps = append(out.Apps, a)
		}
	}
	out.Apps, out.page = pageOf(out.Apps, in.paged, usualApps)
	return out, err
}

// theirParameters are what tools of theirs take beside what ours do. What no adapter uses
// has no effect here, and the answer says so.
var theirParameters = sync.OnceValue(func() map[string]*jsonschema.Schema {
	return map[string]*jsonschema.Schema{
		"width": {Type: "integer"}, "height": {Type: "integer"}, "json_path": {Type: "string", Description: "a file of the workspace"},
		"wait_window": {Type: "boolean"}, "screenshot_window": {Type: "boolean",
			Description: "waits for the window; workspace_screenshot_window shows it"},
		"window_timeout_ms": {Type: "integer"}, "profile": {Type: "string", Description: "the workspace's own, if any"},
		"env": {Type: "array", Items: &jsonschema.Schema{Type: "object",
			Properties: map[string]*jsonschema.Schema{"name": {Type: "string"}, "value": {Type: "string"}}}},
	}
})

// noEffect describes the parameters of theirs that mean nothing here.
var noEffect = sync.OnceValue(func() map[string]*jsonschema.Schema {
	m := map[string]*jsonschema.Schema{}
	for kind, names := range map[string]string{
		"boolean": "acknowledge_unenforced_policy open_viewer viewer_always_on_top run_setup setup_kill_on_timeout startup_wait_window " +
			"startup_screenshot_window existing_only preserve_trailing_spaces",
		"integer": "setup_timeout_ms startup_window_timeout_ms timeout_ms tail_bytes delay_ms browser_timeout_ms",
		"string":  "output_path terminal_program title workspace_id",
	} {
		for name := range strings.FieldsSeq(names) {
			m[name] = &jsonschema.Schema{Type: kind, Description: "no effect here"}
		}
	}
	return m
})
