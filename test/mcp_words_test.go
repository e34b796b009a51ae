//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestMCPConflictNamesPaths: what stands against an undo is told by its path, and what can
// be done about it in parameters of the tool.
func TestMCPConflictNamesPaths(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	c := w.mcp("--display", "none")
	c.does("write_file", args{"path": "a.txt", "content": "one\n"})
	w.write(w.project+"/a.txt", "by the person\n")
	r := c.refuses("conflict", "undo", args{})
	for _, want := range []string{w.project + "/a.txt: ", "force: true", "keep_both"} {
		if !strings.Contains(r.text(), want) {
			t.Errorf("the conflict has no %q: %s", want, r.text())
		}
	}
	if strings.Contains(r.text(), "--") {
		t.Errorf("flags: %s", r.text())
	}
	c.does("undo", args{"conflicts": "skip"})
	if got := w.read(w.project + "/a.txt"); got != "by the person\n" {
		t.Errorf("%q", got)
	}
}

// TestMCPEditsAlone: several edits need nothing beside them.
func TestMCPEditsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	c := w.mcp("--display", "none")
	w.write(w.project+"/a.txt", "one two three\n")
	c.does("edit_file", args{"path": "a.txt", "edits": []args{{"old_string": "one", "new_string": "1"}, {"old_string": "three",
		"new_string": "3"}}})
	if got := w.read(w.project + "/a.txt"); got != "1 two 3\n" {
		t.Errorf("%q", got)
	}
}

// TestMCPProfileValidate: a profile that is right is told so, and nothing is saved.
func TestMCPProfileValidate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	c := w.mcp("--display", "none", "--toolsets", "profiles,compat")
	if r := c.does("profile_read", args{"action": "validate",
		"profile": "description: x\n"}); len(r.Structured["profile"].(map[string]any)) == 0 {
		t.Errorf("valid: %s", r.text())
	}
	if r := c.tool("profile_read", args{"action": "validate", "profile": "nothing: x\n"}); !r.IsError ||
		!strings.Contains(r.text(), "nothing") {
		t.Errorf("a wrong one: %s", r.text())
	}
	if r := c.does("profile_read", args{"action": "list"}); strings.Contains(r.text(), "checked") {
		t.Errorf("saved: %s", r.text())
	}
}

// TestMCPComputerShapes: the action comes with its fields beside it, or as one object; and
// zoom shows a part of the screen in its own pixels.
func TestMCPComputerShapes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb")
	c := w.mcp()
	for _, shape := range []args{
		{"action": "mouse_move", "coordinate": []int{30, 40}}, {"action": args{"action": "mouse_move", "coordinate": []int{30, 40}}},
		{"action": "mouse_move", "coordinate": []int{30, 40}, "version": "computer_20251124"},
	} {
		c.does("computer", args{"action": "mouse_move", "coordinate": []int{5, 5}})
		c.does("computer", shape)
		if r := c.does("computer", args{"action": "cursor_position"}); !strings.Contains(r.text(), "X=30,Y=40") {
			t.Errorf("%v: %s", shape, r.text())
		}
	}
	r := c.does("computer", args{"action": "zoom", "region": []int{10, 20, 110, 70}})
	p, _ := r.Structured["picture"].(map[string]any)
	area, _ := p["area"].([]any) // of the screen, which has more pixels than a whole picture
	if len(r.Content) == 0 || r.Content[0].Type != "image" || len(area) != 4 || p["width"] != area[2] || area[2].(float64) < 100 ||
		area[3].(float64) >= area[2].(float64) {
		t.Errorf("zoom: %v", r.Structured)
	}
	for _, wrong := range []args{{"action": "fly"}, {"action": args{"action": "screenshot"}, "text": "x"}, {"action": "zoom",
		"region": []int{0, 0, 9000, 10}}, {"action": "zoom", "region": []int{0, 0, 10, 10}, "version": "20250124"}} {
		if r := c.tool("computer", wrong); !r.IsError {
			t.Errorf("%v: %s", wrong, r.text())
		}
	}
}

// TestMCPSeedCalls: a client of agent-workspace-linux makes its calls as it always did,
// and its safety stop works.
func TestMCPSeedCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "xterm")
	c := w.mcp("--toolsets", "compat")
	w.write(w.project+"/theirs.json", `{"id":"theirs","description":"x","network":{"mode":"disabled"}}`)
	if r := c.does("workspace_start", args{"id": "seed", "width": 800, "height": 600, "open_viewer": false,
		"acknowledge_hidden_workspace":  true,
		"acknowledge_unenforced_policy": true}); !strings.Contains(r.text(), "without effect here: acknowledge_unenforced_policy, open_viewer") {
		t.Errorf("started: %s", r.text())
	}
	if r := c.does("workspace_observe", args{"id": "seed", "include_hidden": true, "events": true,
		"events_tail": 3}); !strings.Contains(r.text(), "[800,600]") {
		t.Errorf("its desktop: %s", r.text())
	}
	c.does("workspace_run_app", args{"id": "seed", "name": "one", "command": []string{"sh", "-c", "echo $SAID > said.txt"}, "tail_bytes": 10,
		"env": []args{{"name": "SAID", "value": "by them"}}})
	if got := w.read(w.project + "/said.txt"); got != "by them\n" {
		t.Errorf("%q", got)
	}
	c.refuses("arguments", "workspace_run_app", args{"id": "seed", "command": []string{"true"}, "profile": "locked"})
	if r := c.does("workspace_list_apps", args{"id": "seed", "name_contains": "on",
		"command_contains": "said.txt"}); !strings.Contains(r.text(), `"total":1`) {
		t.Errorf("apps: %s", r.text())
	}
	c.does("workspace_launch_app", args{"id": "seed", "command": []string{"xterm", "-title", "theirs"}, "wait_window": true,
		"window_timeout_ms": 20000})
	c.does("workspace_scroll_window", args{"id": "seed", "title_contains": "theirs", "direction": "down"})
	c.does("workspace_run_in_terminal", args{"id": "seed", "title": "a title"})
	c.does("workspace_terminal_input", args{"id": "seed", "text": "echo typed > typed.txt", "keys": []string{"Enter"}, "delay_ms": 1})
	eventually(t, "what was typed is done", func() bool { return exists(w.project + "/typed.txt") })
	c.does("workspace_terminal_read", args{"id": "seed", "preserve_trailing_spaces": true})
	c.does("profile_validate", args{"json_path": "theirs.json"})
	c.does("profile_import", args{"json_path": "theirs.json"})
	if r := c.does("profile_list", args{}); !strings.Contains(r.text(), `"theirs"`) || strings.Contains(r.text(), "checked") {
		t.Errorf("profiles: %s", r.text())
	}
	c.does("mcp_control_update", args{"id": "seed", "mode": "paused"})
	c.refuses("control", "workspace_run_app", args{"id": "seed", "command": []string{"true"}})
	if r := c.does("workspace_status", args{"id": "seed"}); !strings.Contains(r.text(), `"paused"`) {
		t.Errorf("status: %s", r.text())
	}
	if r := c.does("workspace_stop", args{"id": "seed", "timeout_ms": 5000}); r.Structured["stopped"] != true {
		t.Errorf("stop: %s", r.text())
	}
	c.does("workspace_cleanup_stale", args{"id": "seed", "dry_run": true})
}

// TestMCPStartCancelled: a start that the client does not want any longer comes to nothing, and
// its name is free for the next.
func TestMCPStartCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	c := w.mcp("--display", "none")
	c.does("profile_write", args{"action": "put", "id": "slow", "profile": "setup:\n  - command: [sleep, \"3\"]\n"})
	start := args{"name": "later", "profile": "slow", "display": "none"}
	id, _ := c.ask("tools/call", args{"name": "workspace_start", "arguments": start})
	time.Sleep(500 * time.Millisecond) // it is on its way
	c.line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
	eventually(t, "nothing of it runs", func() bool { return !strings.Contains(w.plain(w.bin, "ps", "--json").out, `"later"`) })
	if r := c.does("workspace_start", start); r.Structured["started"] != true {
		t.Errorf("the next start: %s", r.text())
	}
	c.does("workspace_stop", args{"name": "later"})
}

// TestMCPImportLosses: what of a profile is not carried over is told, and is no error.
func TestMCPImportLosses(t *testing.T) {
	t.Parallel()
	c := newWorld(t, ordinary(t)).mcp("--display", "none")
	r := c.does("profile_write", args{"action": "import", "id": "theirs", "profile": `{"id": "x", "width": 800}`})
	if !strings.Contains(r.text(), `"lost"`) {
		t.Errorf("imported: %s", r.text())
	}
}
