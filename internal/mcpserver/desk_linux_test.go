package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"carrel/internal/api"
	"carrel/internal/memfile"
	"carrel/internal/named"
	"carrel/internal/op"
	"carrel/internal/supervisor"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// desk is a double of what is in a workspace: it notes what it is asked for, and says what the
// test wants. It has the windows of the test, and beside gives what comes as a descriptor.
type desk struct {
	mu      sync.Mutex
	asked   []api.Request
	copied  string
	windows []api.Window
	beside  []byte
	said    api.DesktopReply
	apps    []api.App // each has one line of a list, and the first is what other answers are of
}

func (d *desk) Answer(_ context.Context, c *supervisor.Call) api.Reply {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, c.Request)
	want := c.Request.Desktop
	if want == nil {
		r := api.Reply{OK: true}
		for i := range d.apps {
			if r.App = &d.apps[i]; c.Request.Op != api.OpApps {
				return r
			}
			_ = c.Send(r)
		}
		r.App = nil
		return r
	}
	if len(c.Files) > 0 {
		text, _ := memfile.Read(c.Files[0], 1<<20)
		d.copied = string(text)
	}
	beside, said := d.beside, d.said
	if want.Windows != nil {
		beside, _ = json.Marshal(d.windows)
		said = api.DesktopReply{}
	}
	if beside == nil {
		return api.Reply{OK: true, Desktop: &said}
	}
	f, err := memfile.Sealed("answer", beside)
	if err != nil {
		return api.Reply{Error: &api.Denial{Message: err.Error()}}
	}
	defer f.Close()
	said.Bytes = cmp.Or(said.Bytes, int64(len(beside)))
	_ = c.Send(api.Reply{Desktop: &said}, f)
	return api.Reply{OK: true}
}

func (d *desk) Describe(*api.WorkspaceStatus) {}

// wanted is what the desktop was asked for since the last call of it, as JSON, one after the other.
func (d *desk) wanted() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []string
	for _, r := range d.asked {
		if r.Desktop != nil {
			text, _ := json.Marshal(r.Desktop)
			list = append(list, strings.TrimPrefix(r.Op, "desktop-")+" "+string(text))
		}
	}
	d.asked = nil
	return strings.Join(list, "\n")
}

// raise registers a workspace of this process, with a double for its desk.
func raise(t *testing.T, dirs []string, c supervisor.Config) *desk {
	t.Helper()
	d := &desk{}
	c.Control.Mode = cmp.Or(c.Control.Mode, api.ControlActive)
	c.ID, c.Project, c.Desk, c.Dirs = fmt.Sprintf("ab%x", c.Name), "/p", d, dirs
	up, err := supervisor.Serve(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(up.Close)
	return d
}

// registered are the directories in which workspaces of a test are found.
func registered(t *testing.T) []string {
	dir := t.TempDir() + "/carrel"
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return []string{dir}
}

// serving is a server with all tools, for the workspace "shop".
func serving(t *testing.T, dirs []string) *Server {
	t.Helper()
	s, err := New(Options{Sets: append(slices.Clone(Sets), setCompat), Workspace: "shop", Project: "/p", Registry: dirs,
		Caller: strangerCaller(t), Log: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shop is a server and the workspace for it.
func shop(t *testing.T, c supervisor.Config) (*Server, *desk) {
	t.Helper()
	dirs := registered(t)
	c.Name = "shop"
	return serving(t, dirs), raise(t, dirs, c)
}

// told is what a client sees of an answer.
type told struct {
	*sdk.CallToolResult
	problem
	text string // of all parts
}

func (s *Server) say(t *testing.T, tool, arguments string) (got told) {
	t.Helper()
	r, err := s.handler(s.tools[tool])(t.Context(), &sdk.CallToolRequest{Params: &sdk.CallToolParamsRaw{Name: tool,
		Arguments: json.RawMessage(arguments)}})
	if err != nil {
		t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	got.CallToolResult = r
	if p, ok := r.StructuredContent.(problem); ok {
		got.problem = p
	} else if p, ok := r.Meta[metaKey].(problem); ok {
		got.problem = p
	}
	for _, c := range r.Content {
		if c, ok := c.(*sdk.TextContent); ok {
			got.text += c.Text
		}
	}
	return got
}

// TestGuardOfEachTool: under each mode but active, and where the project is paused, each tool
// that changes something is refused before its arguments are read, and no other is.
func TestGuardOfEachTool(t *testing.T) {
	for mode, refuses := range map[string]bool{api.ControlActive: false, "of another version": true, api.ControlReadOnly: true,
		api.ControlTakeover: true, api.ControlPaused: true, "project": true} {
		c := supervisor.Config{Control: api.Control{Mode: mode, Reason: "looking"}}
		if mode == "project" {
			c = supervisor.Config{ProjectPaused: func() (*api.ProjectPause, error) { return &api.ProjectPause{Project: "/p"}, nil }}
		}
		s, d := shop(t, c)
		for name, tool := range s.tools {
			for _, arguments := range []string{`{"surprise":1}`, `{"surprise":1,"dry_run":true}`, `{"surprise":1,"output_path":"x"}`} {
				want := op.CodeArguments
				kept := map[Control]bool{WhenActive: true, OrDryRun: !strings.Contains(arguments, "dry_run"),
					op.OrInside: strings.Contains(arguments, "output_path")}[tool.Control]
				if refuses && kept {
					want = api.CodeControl
				}
				if got := s.say(t, name, arguments); !got.IsError || got.Code != want {
					t.Errorf("%s %s under %s: %s, want %s", name, arguments, mode, got.text, want)
				}
			}
		}
		if len(d.asked) > 0 {
			t.Errorf("under %s the workspace was asked: %+v", mode, d.asked)
		}
	}
}

// TestGuardOfOtherWorkspaces: a call is held by the control of the workspace that it names, in
// either system's words, and by that of the server's own; by that of no third one.
func TestGuardOfOtherWorkspaces(t *testing.T) {
	for _, held := range []string{"shop", "other", "third", "dev"} {
		dirs := registered(t)
		for _, name := range []string{"shop", "other", "third", "dev"} {
			c := supervisor.Config{Name: name}
			if name == held {
				c.Control.Mode = api.ControlReadOnly
			}
			raise(t, dirs, c)
		}
		s := serving(t, dirs)
		for call, by := range map[string]string{
			`input {"steps":[]}`:                                  "shop",
			`input {"name":"other","steps":[]}`:                   "shop other",
			`workspace_key {"key":"a"}`:                           "shop",
			`workspace_key {"id":"other","key":"a"}`:              "shop other",
			`app_launch {"name":"other","command":["true"]}`:      "shop other",
			`workspace_launch_app {"name":"dev","command":["a"]}`: "shop", // the app's name
			`profile_delete {"id":"dev"}`:                         "shop", // a profile's name
			`profile_delete {"id":"_dev"}`:                        "shop", // which no workspace can have
			`profile_write {"action":"delete","id":"_dev"}`:       "shop",
			`profile_put {"id":"_dev","profile":"x"}`:             "shop",
			`workspace_status {"name":"other"}`:                   "",
			`workspace_stop {"name":"third","dry_run":true}`:      "",
		} {
			tool, arguments, _ := strings.Cut(call, " ")
			got := s.say(t, tool, arguments)
			if want := slices.Contains(strings.Fields(by), held); (got.Code == api.CodeControl) != want {
				t.Errorf("%s with %s under control: %s", call, held, got.text)
			} else if want && (got.Subject != held || !strings.Contains(got.Message, "read_only")) {
				t.Errorf("%s with %s under control: %+v", call, held, got.problem)
			}
		}
	}
}

// TestGuardKeepsWhatWasSaid: what a person said to the server's workspace holds after it was stopped,
// for all that changes something but its own start.
func TestGuardKeepsWhatWasSaid(t *testing.T) {
	for mode, holds := range map[string]bool{api.ControlReadOnly: true, api.ControlPaused: true, api.ControlActive: false} {
		s := serving(t, registered(t))
		state := s.opts.Caller.State()
		if err := os.MkdirAll(state+"/workspaces", 0o700); err != nil {
			t.Fatal(err)
		}
		for name, mode := range map[string]string{"shop": mode, "other": api.ControlPaused} { // other is not the server's
			place, err := named.Take(state, name)
			if err != nil {
				t.Fatal(err)
			}
			err = errors.Join(place.KeepManifest(&api.Desk{Manifest: api.Manifest{Name: name}}, true),
				place.KeepControl(api.Control{Mode: mode, By: "person"}))
			if place.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for call, kept := range map[string]bool{`input {"surprise":1}`: true, `app_launch {"name":"other","surprise":1}`: true,
			`workspace_start {"name":"other","surprise":1}`: true, `profile_delete {"id":"x","surprise":1}`: true,
			`workspace_start {"surprise":1}`: false, `workspace_start {"name":"shop","surprise":1}`: false,
			`workspace_stop {"surprise":1}`: false, `read_file {"surprise":1}`: false} {
			tool, arguments, _ := strings.Cut(call, " ")
			want := op.CodeArguments
			if kept && holds {
				want = api.CodeControl
			}
			if got := s.say(t, tool, arguments); got.Code != want || got.Code == api.CodeControl && got.Source != "person" {
				t.Errorf("%s after control %s: %s", call, mode, got.text)
			}
		}
	}
}
