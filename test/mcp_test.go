//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMCP is an agent's way through: a workspace begins by itself, a command changes
// files, that is one step, and goes back; what is refused says why; all is gone with the
// client.
func TestMCP(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		c := w.mcp("--display", "none")
		if r := c.does("workspace_status", args{}); r.Structured["running"] != false {
			t.Errorf("before anything was done: %s", r.text())
		}
		r := c.does("app_launch", args{"command": []string{"sh", "-c", "echo one > made; echo said"}, "wait": "exit"})
		app := r.Structured["app"].(map[string]any)
		if steps, _ := app["steps"].([]any); len(steps) != 1 || w.read(w.project+"/made") != "one\n" {
			t.Errorf("app_launch: %s", r.text())
		}
		if r := c.does("app_log", args{"app": app["id"]}); r.text() != "said\n" {
			t.Errorf("app_log: %s", r.text())
		}
		if r := c.does("undo_preview", args{}); !strings.Contains(r.text(), w.project+"/made") {
			t.Errorf("undo_preview: %s", r.text())
		}
		if r := c.does("undo", args{}); r.Structured["steps_rolled_back"] != 1.0 || exists(w.project+"/made") {
			t.Errorf("undo: %s", r.text())
		}
		if c.does("redo", args{}); w.read(w.project+"/made") != "one\n" {
			t.Error("redo did not bring it back")
		}
		if r := c.does("get_undo_history", args{"all": true}); len(r.Structured["steps"].([]any)) != 3 {
			t.Errorf("history: %s", r.text())
		}
		c.refuses("not-human", "discard_undo_history", args{})
		c.does("discard_undo_history", args{"dry_run": true})
		r = c.refuses("arguments", "undo", args{"cuont": 2})
		if !strings.Contains(r.text(), `"cuont"`) || !strings.Contains(r.text(), "count") {
			t.Errorf("an unknown parameter: %s", r.text())
		}
		list := c.does("workspace_list", args{})
		name := list.Structured["default"].(string)
		if e := w.carrel("list"); !strings.Contains(e.out, name) {
			t.Errorf("list: %s", e)
		}
		c.end()
		if e := w.carrel("ps", "--json"); strings.Contains(e.out, name) {
			t.Errorf("its workspace goes on without it: %s", e)
		}
	})
}

// TestMCPControl: what is under control cannot be changed by an agent, nor taken out of
// it, and can be stopped all the same.
func TestMCPControl(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	c := w.mcp("--display", "none")
	c.does("app_launch", args{"command": []string{"true"}, "wait": "exit"})
	for _, mode := range []string{"read_only", "paused"} {
		c.does("mcp_control_update", args{"mode": mode, "reason": "a person looks"})
		r := c.refuses("control", "app_launch", args{"command": []string{"touch", "made"}})
		if !strings.Contains(r.text(), "a person looks") || exists(w.project+"/made") {
			t.Errorf("%s: %s", mode, r.text())
		}
		c.refuses("control", "undo", args{})
		c.refuses("control", "profile_write", args{"action": "put", "id": "p", "profile": "description: x\n"})
		c.refuses("control", "profile_export", args{"id": "p", "output_path": "p.yaml"})
		c.does("app_launch", args{"command": []string{"touch", "made"}, "dry_run": true})
		c.does("workspace_status", args{"include": []string{"apps", "policy", "manifest", "artifacts"}})
		c.refuses("not-human", "mcp_control_update", args{"mode": "active"})
		if mode == "paused" { // it was asked for a moment ago, and refused
			c.refuses("busy", "mcp_control_update", args{"mode": "active", "confirmed_user_request": true})
			continue
		}
		r = c.does("mcp_control_update", args{"mode": "active", "confirmed_user_request": true, "reason": "the person wants it"})
		waiting := c.does("approvals", args{}).Structured["waiting"].([]any)
		if now := r.Structured["control"].(map[string]any); r.Structured["pending"] != true || now["mode"] != mode || len(waiting) != 1 {
			t.Errorf("asked for: %s, waiting %v", r.text(), waiting)
		}
		if r := w.carrel("approve", waiting[0].(map[string]any)["id"].(string)); r.code != 125 {
			t.Errorf("approved without a person: %s", r)
		}
		c.does("approvals", args{"deny": waiting[0].(map[string]any)["id"]})
		c.refuses("control", "app_launch", args{"command": []string{"touch", "made"}})
	}
	c.does("workspace_stop", args{})
}

// TestMCPBadInput: whatever is said, the server answers the next one.
func TestMCPBadInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	c := w.mcpSilent("--display", "none")
	c.line(`{"jsonrpc":"2.0","id":"early","method":"tools/call","params":{"name":"workspace_list","arguments":{}}}`)
	c.greet("2025-06-18")
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"workspace_list"}}`,
		`{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"workspace_list","arguments":null}}`,
		`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":null}`,
		`{"jsonrpc":"2.0","id":"d","method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":"e","method":"tools/call","params":{"name":"undo","arguments":[]}}`,
		`{"jsonrpc":"2.0","id":"f","method":"tools/call","params":{"name":"undo","arguments":{"count":"x"}}}`,
		`{"jsonrpc":"2.0","id":"g","method":"tools/call","params":{"name":"undo","arguments":{"count":1,"count":2}}}`,
		`{"jsonrpc":"2.0","id":"h","method":"tools/call","params":{"name":"undo","arguments":` + strings.Repeat(`{"a":`, 500) + `1` + strings.Repeat(`}`, 500) + `}}`,
		`{"jsonrpc":"2.0","id":"i","method":"no/such"}`,
		"null", "3", `"x"`, "[]", "[1]", "{", "}", strings.Repeat("[", 1000), "\xff\xfe", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":1e400,"method":"ping"}`,
		strings.Repeat("x", 17<<20), `[{"jsonrpc":"2.0","id":"j","method":"ping"},{"jsonrpc":"2.0","id":"k","method":"ping"}]`,
		`{"jsonrpc":"2.0","method":"notifications/no-such","params":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"never"}}`,
	} {
		c.line(line)
	}
	if r := c.tool("app_log", args{"app": "a\xffb\n"}); !r.IsError {
		t.Errorf("a name of any bytes: %s", r.text())
	}
	// Ten megabytes in one line.
	r := c.tool("profile_read", args{"action": "validate", "profile": "description: " + strings.Repeat("x", 10<<20)})
	if !r.IsError {
		t.Errorf("a long profile: %.100s", r.text())
	}
	for _, flag := range []string{"--force", "-x", "--", "../x", "a b", strings.Repeat("n", 300), "\x00"} {
		for _, call := range []struct {
			tool string
			args args
		}{
			{"workspace_status", args{"name": flag}}, {"workspace_start", args{"name": flag, "display": "none"}}, {"workspace_cleanup_stale", args{"name": flag, "dry_run": true}},
			{"profile_read", args{"action": "get", "id": flag}}, {"profile_write", args{"action": "delete", "id": flag}}, {"profile_export", args{"id": flag, "output_path": "../../x"}},
			{"diff", args{"steps": flag}}, {"undo", args{"step": flag}}, {"discard_undo_history", args{"steps": []string{flag}, "dry_run": true}}, {"approvals", args{"deny": flag}},
		} {
			if r := c.tool(call.tool, call.args); !r.IsError {
				t.Errorf("%s %v: %s", call.tool, call.args, r.text())
			}
		}
	}
	c.does("workspace_list", args{})
}

// TestMCPManyCalls: a thousand calls at once are answered, whoever disconnects in the
// midst of one, too, and one that is cancelled ends what it has begun.
func TestMCPManyCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	c := w.mcp("--display", "none")
	c.does("app_launch", args{"command": []string{"true"}, "wait": "exit"})
	var wg sync.WaitGroup
	failed := make(chan string, 1000)
	for range 1000 {
		wg.Go(func() {
			_, to := c.ask("tools/call", args{"name": "workspace_status", "arguments": args{}})
			select {
			case r := <-to:
				if got := c.told(r); got.IsError {
					failed <- got.text()
				}
			case <-time.After(patience):
				failed <- "no answer"
			}
		})
	}
	wg.Wait()
	select {
	case why := <-failed:
		t.Errorf("one of a thousand: %s", why)
	default:
	}
	id, to := c.ask("tools/call", args{"name": "app_launch", "arguments": args{"command": []string{"sleep", "1000"}, "wait": "exit", "timeout_ms": 600000}})
	eventually(t, "it waits", func() bool { return strings.Contains(c.does("app_list", args{"running": true}).text(), "1000") })
	begin := time.Now()
	c.line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
	select {
	case <-to:
	case <-time.After(5 * time.Second): // an answer to what was cancelled is not owed
	}
	c.does("workspace_status", args{})
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestMCPTwoClients share a workspace, which goes on without them; a third is refused
// nothing that the second had.
func TestMCPTwoClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	s := w.stays("shared")
	one, two := w.mcp("--workspace", "shared"), w.mcp("--workspace", "shared")
	one.does("app_launch", args{"command": []string{"sh", "-c", "echo 1 > a"}, "wait": "exit"})
	two.does("app_launch", args{"command": []string{"sh", "-c", "echo 2 > b"}, "wait": "exit"})
	two.does("undo", args{})
	if exists(w.project+"/b") || !exists(w.project+"/a") {
		t.Error("the wrong step went back")
	}
	one.end()
	two.does("app_list", args{})
	two.end()
	s.sh("true")
}

// TestMCPVersions: every version of the protocol that clients speak is answered in kind.
func TestMCPVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		c := w.mcpSilent("--display", "none")
		if got := c.greet(version); got != version {
			t.Errorf("asked for %s, got %s", version, got)
		}
		names, all := c.toolNames()
		if !slices.Contains(names, "undo") || !slices.Contains(names, "screenshot") {
			t.Errorf("%s: %q", version, names)
		}
		for _, tool := range all {
			if s, _ := json.Marshal(tool["inputSchema"]); !strings.Contains(string(s), `"additionalProperties":false`) {
				t.Errorf("%s takes anything: %s", tool["name"], s)
			}
		}
		c.end()
	}
	c := w.mcp("--toolsets", "control")
	if names, _ := c.toolNames(); slices.Contains(names, "undo") || !slices.Contains(names, "approvals") {
		t.Errorf("control alone: %q", names)
	}
	if r := w.carrel("mcp", "--toolsets", "nonsense"); r.code != 125 || !strings.Contains(r.err, "nonsense") {
		t.Errorf("%s", r)
	}
}

// TestMCPSilentClient: a client that never reads does not keep others, or the end, waiting.
func TestMCPSilentClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	cmd := w.command(w.bin, "mcp", "--display", "none")
	in, err := cmd.StdinPipe()
	w.must(err)
	r, out, err := os.Pipe()
	w.must(err)
	defer r.Close()
	cmd.Stdout = out
	w.must(cmd.Start())
	out.Close()
	go func() {
		for i := range 3000 {
			if _, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`+"\n", i); err != nil {
				return
			}
		}
	}()
	time.Sleep(300 * time.Millisecond)
	w.must(cmd.Process.Signal(os.Interrupt))
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		_ = cmd.Process.Kill()
		t.Error("Ctrl-C does not end it")
	}
}

// TestMCPQuestion: the client is asked once about a desktop that nobody sees; its no is
// one, and without a client that can ask it takes the argument.
func TestMCPQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb")
	for _, answer := range []string{"decline", "accept"} { // a yes of one server is not another's
		c := w.mcpSilent()
		asked := 0
		c.asks = func(method string, _ json.RawMessage) any {
			if method == "elicitation/create" {
				asked++
			}
			return args{"action": answer, "content": args{}}
		}
		c.greet("2025-11-25")
		r := c.tool("workspace_start", args{})
		if r.IsError != (answer == "decline") || asked != 1 {
			t.Errorf("%s: asked %d times, %s", answer, asked, r.text())
		}
		if answer == "accept" {
			if r := c.does("observe", args{"screenshot": true}); len(r.Content) != 2 || r.Content[1].MIMEType != "image/png" || len(r.Content[1].Data) < 100 {
				t.Errorf("observe: %s", r.text())
			}
		} else {
			if r := c.tool("workspace_start", args{"acknowledge_hidden_workspace": true}); !r.IsError {
				t.Errorf("a no was talked away: %s", r.text())
			}
		}
		c.end()
	}
}

// TestMCPFiles: each call that changes something is one step, whose number it tells and
// the history shows; what looks is none; what the walls refuse is told so.
func TestMCPFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("git")
	w.repository()
	w.write(w.project+"/secret.pem", "SECRET")
	w.write(w.home+"/.config/carrel/config.yaml", "deny: ['**/*.pem']\n")
	c := w.mcp("--display", "none")
	step := func(r toolReply) float64 {
		t.Helper()
		n, _ := r.Structured["step_id"].(float64)
		return n
	}
	wrote := step(c.does("write_file", args{"path": "a/b.txt", "content": "one\ntwo\n"}))
	edited := step(c.does("edit_file", args{"path": "a/b.txt", "old_string": "two", "new_string": "three"}))
	ran := c.does("Bash", args{"command": "echo four >> a/b.txt; seq 1 100000; echo end"})
	if n := ran.Structured["step_ids"].([]any); wrote == 0 || edited != wrote+1 || len(n) != 1 || n[0] != edited+1 {
		t.Errorf("steps: %v %v %v", wrote, edited, n)
	}
	if out := ran.text(); !strings.HasPrefix(out, "1\n2\n") || !strings.Contains(out, "\nend\n") || !strings.Contains(out,
		"left out") || len(out) > 32_000 {
		t.Errorf("a long output: %d bytes, %.100s", len(out), out)
	}
	if r := c.does("app_log", args{"app": ran.Structured["app_id"], "tail_bytes": 20}); !strings.Contains(r.text(), "\nend\n") {
		t.Errorf("its log: %s", r.text())
	}
	for _, look := range []struct {
		tool string
		args args
	}{
		{"read_file", args{"path": "a/b.txt"}}, {"list_directory", args{}}, {"glob", args{"pattern": "**/*"}}, {"grep", args{"pattern": "three|SECRET"}}, {"get_session_status", args{}}, {"get_working_directory", args{}},
		{"Bash", args{"command": "cat a/b.txt"}},
	} {
		if r := c.does(look.tool, look.args); strings.Contains(r.text(), "SECRET") || look.tool != "list_directory" && strings.Contains(r.text(), "secret.pem") {
			t.Errorf("%s shows what is denied: %s", look.tool, r.text())
		}
	}
	if r := c.does("grep", args{"pattern": "three"}); !strings.Contains(r.text(), "a/b.txt") {
		t.Errorf("grep: %s", r.text())
	}
	history := c.does("get_undo_history", args{}).Structured["steps"].([]any)
	if len(history) != 3 || history[0].(map[string]any)["step"] != edited+1 {
		t.Errorf("history: %v", history)
	}
	for _, path := range []string{"secret.pem", ".git/hooks/pre-commit", "/usr/evil", w.outside + "/x"} {
		if r := c.tool("write_file", args{"path": path, "content": "evil"}); !r.IsError || r.code() == "" || exists(w.outside+"/x") {
			t.Errorf("%s: %s", path, r.text())
		}
	}
	if got := w.read(w.project + "/secret.pem"); got != "SECRET" {
		t.Errorf("the secret: %q", got)
	}
	c.does("undo", args{"count": 2})
	if got := w.read(w.project + "/a/b.txt"); got != "one\ntwo\n" {
		t.Errorf("two steps back: %q", got)
	}
	if r := c.tool("Bash", args{"command": "echo begun; sleep 100", "timeout": 500}); !strings.Contains(r.text(), "begun") || r.Structured["timed_out"] != true {
		t.Errorf("a timeout: %s", r.text())
	}
	bg := c.does("Bash", args{"command": "sleep 100", "run_in_background": true})
	c.does("app_kill", args{"app": bg.Structured["app_id"]})
	// What is cancelled has ended, with all that it began.
	id, _ := c.ask("tools/call", args{"name": "Bash", "arguments": args{"command": "sleep 4321 & sleep 1234"}, "_meta": args{"progressToken": "p"}})
	running := func() bool { return strings.Contains(c.does("app_list", args{"running": true}).text(), "4321") }
	eventually(t, "it runs", running)
	c.line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
	eventually(t, "it ends", func() bool { return !running() })
}

// TestMCPProfiles: a profile is saved, checked, exported into the project as a step, and
// never by a link to somewhere else.
func TestMCPProfiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	c := w.mcp("--display", "none")
	c.does("profile_write", args{"action": "put", "id": "dev", "profile": "description: x\n", "dry_run": true})
	c.refuses("failed", "profile_read", args{"action": "get", "id": "dev"})
	c.does("profile_write", args{"action": "put", "id": "dev", "profile": "description: x\n"})
	c.refuses("failed", "profile_write", args{"action": "put", "id": "dev", "profile": "description: y\n"})
	c.does("profile_write", args{"action": "put", "id": "dev", "profile": "description: y\n", "replace": true})
	if r := c.does("profile_read", args{"action": "list"}); !strings.Contains(r.text(), `"dev"`) {
		t.Errorf("list: %s", r.text())
	}
	if r := c.does("profile_export", args{"id": "dev", "output_path": "a/dev.yaml"}); r.Structured["wrote"] != true || r.Structured["step_id"] == nil || !strings.Contains(w.read(w.project+"/a/dev.yaml"), "description: y") {
		t.Errorf("export: %s", r.text())
	}
	w.symlink(w.outside, w.project+"/away")
	for _, path := range []string{"a/dev.yaml", "away/dev.yaml", w.outside + "/dev.yaml"} {
		if r := c.tool("profile_export", args{"id": "dev", "output_path": path}); !r.IsError {
			t.Errorf("%s: %s", path, r.text())
		}
	}
	c.does("profile_export", args{"id": "dev", "output_path": "../dev.yaml"}) // in a home of its own
	if r := c.does("write_file", args{"path": "~/x", "content": "at home"}); r.Structured["private"] != true {
		t.Errorf("a path in the home: %s", r.text())
	}
	if r := c.does("write_file", args{"path": w.home + "/x", "content": "away"}); r.Structured["private"] != true {
		t.Errorf("a file that goes with the workspace: %s", r.text())
	}
	if exists(w.outside+"/dev.yaml") || exists(w.home+"/src/dev.yaml") || exists(w.home+"/x") {
		t.Error("it was written outside")
	}
	c.does("profile_write", args{"action": "delete", "id": "dev"})
}

// TestMCPUndoMeanwhile: what was done is taken back, and asked for, while a command runs
// for a long time.
func TestMCPUndoMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	c := w.mcp("--display", "none")
	c.does("write_file", args{"path": "a", "content": "1"})
	id, to := c.ask("tools/call", args{"name": "Bash", "arguments": args{"command": "while :; do echo x; sleep 0.05; done"}, "_meta": args{"progressToken": 1}})
	eventually(t, "it tells of its progress", func() bool { return c.notes.Load() > 2 })
	c.does("get_session_status", args{})
	c.does("undo", args{})
	if exists(w.project + "/a") {
		t.Error("undo did nothing")
	}
	c.does("redo", args{})
	before := c.notes.Load()
	eventually(t, "it goes on", func() bool { return c.notes.Load() > before })
	c.line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
	select {
	case <-to:
	case <-time.After(10 * time.Second):
	}
	c.does("workspace_stop", args{})
}

// TestMCPCompat drives a terminal's window by the names, and the parameters, of another
// program's tools.
func TestMCPCompat(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "xterm")
	c := w.mcp("--toolsets", "compat")
	names, _ := c.toolNames()
	for _, name := range []string{"workspace_start", "workspace_launch_app", "workspace_click_window", "workspace_type_window", "mcp_session_brief", "profile_export", "workspace_guardrails"} {
		if !slices.Contains(names, name) {
			t.Errorf("there is no %s", name)
		}
	}
	if len(names) < 70 || slices.Contains(names, "Bash") {
		t.Errorf("%d tools: %q", len(names), names)
	}
	c.asks = func(string, json.RawMessage) any { return args{"action": "decline"} }
	c.refuses("acknowledge", "workspace_start", args{})
	c.asks = func(string, json.RawMessage) any { return args{"action": "accept", "content": args{}} }
	c.does("workspace_start", args{})
	c.does("workspace_launch_app", args{"name": "term", "command": []string{"xterm", "-title", "Their window"}})
	c.does("workspace_wait_window", args{"title_contains": "their WINDOW"})
	c.does("workspace_type_window", args{"title_contains": "Their", "text": "echo typed > typed.txt\n"})
	eventually(t, "what was typed is done", func() bool { return exists(w.project + "/typed.txt") })
	c.does("workspace_click_window", args{"app_id": "term", "x": 10, "y": 10})
	c.does("workspace_resize_window", args{"app_id": "term", "width": 300, "height": 200})
	if r := c.does("workspace_screenshot_window", args{"app_id": "term"}); len(r.Content) == 0 || r.Content[0].MIMEType != "image/png" {
		t.Errorf("a picture: %s", r.text())
	}
	c.does("workspace_set_clipboard", args{"text": "copied"})
	if r := c.does("workspace_get_clipboard", args{}); r.text() != "copied" {
		t.Errorf("the clipboard: %q", r.text())
	}
	c.refuses("arguments", "workspace_click_window", args{"x": 1, "y": 1})
	c.refuses("timeout", "workspace_focus_matching_window", args{"title_contains": "no such", "timeout_ms": 100})
	c.does("workspace_close_matching_window", args{"title_contains": "Their", "dry_run": true})
	c.does("workspace_close_matching_window", args{"title_contains": "Their"})
	eventually(t, "it is closed", func() bool {
		return len(c.does("workspace_list_windows", args{}).Structured["windows"].([]any)) == 0
	})
}

// TestMCPRoots: what may be changed beside the project is part of the same steps.
func TestMCPRoots(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	other := w.home + "/other"
	w.mkdir(other, 0o700)
	w.litter = true
	c := w.mcp("--display", "none", "--write", other)
	if r := c.does("get_working_directory", args{}); fmt.Sprint(r.Structured["all_working_directories"]) != fmt.Sprint([]string{w.project, other}) {
		t.Errorf("%s", r.text())
	}
	if r := c.does("write_file", args{"path": other + "/a", "content": "1"}); r.Structured["step_id"] == nil || r.Structured["private"] == true {
		t.Errorf("%s", r.text())
	}
	if r := c.does("glob", args{"pattern": "*", "roots": []string{w.project, other}}); !strings.Contains(r.text(), other+"/a") {
		t.Errorf("%s", r.text())
	}
	c.does("undo", args{})
	if exists(other + "/a") {
		t.Error("it is still there")
	}
}
