//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel/test/fakemodel"
)

// TestStdioPython: the client of the manual drives a whole session: held safeguards that
// are allowed, denied and forgotten, cancel, undo, redo, barriers, limits.
func TestStdioPython(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		second := w.home + "/second"
		w.mkdir(second, 0o700)
		client := w.copyTree("../docs/examples/stdio", w.outside+"/client")
		script := w.copyTree("testdata/stdio", w.outside+"/script") + "/session.py"
		r := w.plain("/usr/bin/python3", script, client, w.project, second, w.home+"/undo")
		if r.code != 0 || !strings.Contains(r.out, "everything holds") {
			t.Fatal(r)
		}
		if r = w.plain("/usr/bin/python3", client+"/client.py", second); r.code != 0 || exists(second+"/made-by-the-example") {
			t.Fatal(r)
		}
		// Its history was its own: the user's has nothing of it.
		if out := w.plain(w.bin, "history", "--json").out; strings.TrimSpace(out) != "[]" {
			t.Errorf("the user's own history: %s", out)
		}
	})
}

// copyTree copies the files of a directory for the person.
func (w *world) copyTree(from, to string) string {
	w.t.Helper()
	files, err := os.ReadDir(from)
	w.must(err)
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(from, f.Name()))
		w.must(err)
		w.write(to+"/"+f.Name(), string(data))
	}
	return to
}

// TestStdioGo: the client in Go works as it stands in the manual.
func TestStdioGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0])
	bin := w.base + "/bin/example"
	build := exec.Command("go", "build", "-o", bin, "carrel/docs/examples/stdio")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := w.plain(bin, w.project)
	if r.code != 0 || !strings.Contains(r.out, "took back ["+w.project+"/made-by-the-example]") || exists(w.project+"/made-by-the-example") {
		t.Fatal(r)
	}
}

// TestStdioRequests: what is wrong is said by code and field, and changes nothing; walls
// are up, directories are held apart, and nothing is ignored.
func TestStdioRequests(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		other, looked := w.home+"/other", w.home+"/looked"
		w.mkdir(other, 0o700)
		w.mkdir(looked, 0o700)
		secret := w.write(w.home+"/.ssh/id_ed25519", "the secret\n")
		w.write(looked+"/there", "there\n")
		w.write(w.project+"/a", "a\n")
		w.symlink(secret, w.project+"/leads-out")
		c := w.stdio()
		c.refused("invalid_field session", "undo.rollback", map[string]any{"count": 1})
		c.refused("missing_field working_directories", "session.start", nil)
		c.refused("invalid_field working_directories[0].path", "session.start", startIn(w.home+"/nowhere"))
		c.refused("invalid_field working_directories[0].path", "session.start", startIn(secret))
		c.refused("invalid_field working_directories[1].path", "session.start", startIn(w.project, w.project))
		c.refused("invalid_field working_directories[1].path", "session.start", startIn(w.project, filepath.Dir(w.project)))
		c.refused("unsupported_protocol_version protocol_version", "session.start", map[string]any{"protocol_version": 2})
		c.refused("invalid_field vm_mode", "session.start", map[string]any{"vm_mode": "Ephemeral"})
		c.refused("invalid_field network_policy", "session.start", map[string]any{"network_policy": "all", "working_directories": []any{map[string]any{"path": w.project}}})
		start := startIn(w.project, other)
		start["working_directories"] = append(start["working_directories"].([]any), map[string]any{"path": looked, "label": "look", "access": "read_only"})
		got := c.do("session.start", start)
		backend := "process"
		if inBoxes(t) {
			backend = "container"
		}
		if got["backend"] != backend || got["project"] != w.project || len(got["mount_points"].([]any)) != 3 {
			t.Errorf("started: %v", got)
		}
		c.refused("invalid_field session", "session.start", start)

		// Lines that are none, too long, or of nobody, one after the other: the next counts.
		for line, want := range map[string]string{
			"nonsense": "malformed_json", "[]": "malformed_json", `{"type":"session.status"}`: "missing_request_id", `{"type":"nope","request_id":"x"}`: "unknown_operation",
			`{"type":"session.status","request_id":"` + strings.Repeat("x", 2<<20) + `"}`: "oversized_message", `{"type":"agent.execute","request_id":1,"payload":{}}`: "missing_field",
			`{"type":"agent.execute","request_id":1,"payload":{"command":"x","shell":"y"}}`: "invalid_field",
		} {
			c.line(line)
			if m := c.next(func(m lineMessage) bool { return m.Type == "response" }); m.Error.Code != want {
				t.Errorf("%.60s: %+v, want %s", line, m.Error, want)
			}
		}

		// What a command sees and may change.
		done := c.execute("cat " + secret + "; echo changed > " + looked + "/there; echo b > " + other + "/b; cat " + looked + "/there; exit 7")
		out := c.event("terminal_output")
		if done["exit_code"] != 7.0 || fmt.Sprint(done["affected_paths"]) != "["+other+"/b]" || strings.Contains(fmt.Sprint(out), "the secret") || w.read(looked+"/there") != "there\n" {
			t.Errorf("%v, said %v", done, out)
		}
		if canary := w.plain("cat", secret); canary.out != "the secret\n" {
			t.Fatalf("the canary cannot read it either: %s", canary)
		}
		for _, path := range []string{"../second", "/etc/passwd", "leads-out", secret, ".."} {
			c.refused("path_outside_root path", "fs.read", map[string]any{"path": path})
		}
		c.refused("io_error path", "fs.read", map[string]any{"path": "missing"})
		c.refused("io_error path", "carrel.write", map[string]any{"path": "there", "directory": "look", "content": "x"})
		if r := c.do("fs.read", map[string]any{"path": "there", "directory": "look"}); r["content"] != "there\n" {
			t.Errorf("read %v", r)
		}
		c.refused("invalid_field safeguard_id", "safeguard.confirm", map[string]any{"safeguard_id": "abcdef", "action": "allow"})
		c.refused("invalid_field command_id", "carrel.cancel", map[string]any{"command_id": "abcdef"})
		c.refused("invalid_field delete_threshold", "safeguard.configure", map[string]any{"delete_threshold": 0})
		c.refused("carrel.refused", "undo.configure", map[string]any{"max_step_count": 1}) // without --undo-dir
		c.refused("invalid_field session", "agent.prompt", map[string]any{"prompt": "x"})
		c.refused("invalid_field env", "agent.execute", map[string]any{"command": "x", "env": map[string]any{"A=B": "c"}})
		if r := c.do("undo.rollback", map[string]any{"count": 99, "directory": other}); r["steps_rolled_back"] != 1.0 || exists(other+"/b") {
			t.Errorf("rolled back: %v", r)
		}
		if r := c.do("undo.rollback", map[string]any{"count": 1}); r["steps_rolled_back"] != 0.0 {
			t.Errorf("of nothing: %v", r)
		}

		// Written without waiting: the order holds.
		c.send("agent.execute", map[string]any{"command": "sleep 0.3; echo late"})
		id := c.send("session.reset", nil)
		c.send("agent.execute", map[string]any{"command": "echo anew"})
		c.next(func(m lineMessage) bool { return m.ID == id && m.Status == "ok" })
		c.next(func(m lineMessage) bool { return m.Type == "event.terminal_output" && m.Payload["data"] == "anew\n" })
		c.close()
		if strings.Contains(c.said.String(), "the secret") || !strings.Contains(c.said.String(), `"level":"warn"`) {
			t.Errorf("the log: %s", c.said)
		}
	})
}

// TestStdioEnds: however its client goes, the workspace goes with it, and the one that
// begins next says what was cut off.
func TestStdioEnds(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.litter = true // what was killed leaves the registry to the next
		undo := w.home + "/undo"
		for _, how := range []syscall.Signal{0, syscall.SIGTERM, syscall.SIGKILL} {
			c := w.stdio("--working-dir", w.project, "--undo-dir", undo)
			c.do("session.start", nil)
			c.do("agent.execute", map[string]any{"command": "echo x > left; echo on; sleep 300"})
			c.event("terminal_output")
			if how != 0 {
				w.must(c.cmd.Process.Signal(how))
				c.in.Close()
				_ = c.cmd.Wait()
			} else {
				c.do("session.stop", nil)
				c.close()
			}
			eventually(t, "nothing is left running", func() bool { return len(w.processes()) == 0 })
			if w.read(w.project+"/left") != "x\n" {
				t.Errorf("%v: what was done is gone", how)
			}
		}
		// The supervisor is killed: the session says so, and the next one has a step to take back.
		c := w.stdio("--working-dir", w.project, "--undo-dir", undo)
		c.do("session.start", nil)
		c.do("agent.execute", map[string]any{"command": "echo y > left; echo on; sleep 300"})
		c.event("terminal_output")
		w.must(syscall.Kill(int(c.do("fs.status", nil)["carrel.supervisor_pid"].(float64)), syscall.SIGKILL))
		if e := c.event("error"); e["code"] != "command_lost" && e["code"] != "workspace_ended" {
			t.Errorf("told: %v", e)
		}
		eventually(t, "the session is over", func() bool { return c.do("session.status", nil)["state"] == "idle" })
		c.do("session.start", nil)
		if e := c.event("recovery"); len(e["step_ids"].([]any)) != 1 {
			t.Errorf("recovery: %v", e)
		}
		if r := c.do("undo.rollback", map[string]any{"count": 1}); r["steps_rolled_back"] != 1.0 || w.read(w.project+"/left") != "x\n" {
			t.Errorf("rolled back %v: %q", r, w.read(w.project+"/left"))
		}
		c.do("session.stop", nil)

		// Another version's history is told, set aside, and not touched otherwise.
		stores, _ := filepath.Glob(undo + "/carrel/*/format")
		if len(stores) != 1 {
			t.Fatalf("histories: %v", stores)
		}
		w.must(os.WriteFile(stores[0], []byte("carrel history 99\n"), 0o600))
		c.refused("carrel.refused", "session.start", nil)
		if e := c.event("undo_version_mismatch"); e["found_version"] != "carrel history 99" {
			t.Errorf("told: %v", e)
		}
		aside := c.do("undo.discard", nil)["moved_aside"].(string)
		if w.read(aside+"/format") != "carrel history 99\n" {
			t.Error("the other history is not what it was")
		}
		c.do("session.start", nil)
		if done := c.execute("echo z > left"); done["step_id"] != 1.0 {
			t.Errorf("in the new history: %v", done)
		}
		c.close()
	})
}

// TestStdioOwner: a client's yes counts for its own safeguards and for nothing else, and
// nobody else's counts for them.
func TestStdioOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0])
	w.write(w.home+"/.config/carrel/config.yaml", "safeguards: {removed_files: 2, then: ask, answer_within: 20s}\n")
	for i := range 6 {
		w.write(fmt.Sprintf("%s/f%d", w.project, i), "x\n")
	}
	c := w.stdio("--working-dir", w.project)
	c.do("session.start", nil)
	c.do("agent.execute", map[string]any{"command": "rm f*"})
	held := c.event("safeguard_triggered")
	if held["kind"] != "carrel.user" {
		t.Errorf("held: %v", held)
	}
	m := c.refused("carrel.refused", "safeguard.confirm", map[string]any{"safeguard_id": held["safeguard_id"], "action": "allow"})
	if m.Error.Carrel["code"] != "not-human" || !exists(w.project+"/f5") {
		t.Errorf("a client's yes to the user's safeguard: %+v", m.Error)
	}
	c.do("safeguard.confirm", map[string]any{"safeguard_id": held["safeguard_id"], "action": "deny"})
	c.event("step_completed")
	for i := range 6 {
		if !exists(fmt.Sprintf("%s/f%d", w.project, i)) {
			t.Errorf("f%d is gone", i)
		}
	}
	c.close()
	w.write(w.home+"/.config/carrel/config.yaml", "safeguards: {removed_files: 100}\n")
	c = w.stdio("--working-dir", w.project)
	c.do("session.start", nil)
	c.do("safeguard.configure", map[string]any{"delete_threshold": 1})
	c.do("agent.execute", map[string]any{"command": "rm f0"})
	held = c.event("safeguard_triggered")
	if r := w.plain(w.bin, "approve", held["safeguard_id"].(string)); r.code == 0 {
		t.Errorf("somebody else said yes: %s", r)
	}
	// Another client, also one with a session in the same project, is not the owner.
	other := w.stdio("--working-dir", w.project)
	other.do("session.start", nil)
	other.refused("invalid_field safeguard_id", "safeguard.confirm", map[string]any{"safeguard_id": held["safeguard_id"], "action": "allow"})
	other.close()
	if !exists(w.project + "/f0") {
		t.Error("f0 is gone")
	}
	c.do("safeguard.confirm", map[string]any{"safeguard_id": held["safeguard_id"], "action": "allow"})
	c.event("step_completed")
	if exists(w.project + "/f0") {
		t.Error("f0 is still there")
	}
	c.close()

	// A ceiling holds for all that is asked for.
	ceiling := w.write(w.home+"/ceiling.json", `{"network": "closed", "undo": "preview"}`)
	c = w.stdio("--working-dir", w.project, "--permissions", ceiling)
	wide := startIn(w.project)
	wide["network_policy"] = "inherit_host"
	if m := c.refused("carrel.refused", "session.start", wide); m.Error.Carrel["code"] != "ceiling" {
		t.Errorf("beyond the ceiling: %+v", m.Error)
	}
	c.do("session.start", nil)
	c.execute("echo x > made")
	c.do("carrel.preview", nil)
	c.refused("carrel.refused", "undo.rollback", map[string]any{"count": 1})
	c.refused("carrel.refused", "undo.discard", nil)
	if !exists(w.project + "/made") {
		t.Error("the undo was carried out")
	}
	c.close()
}

// TestStdioFlood: a client that does not read holds nothing up but what is told to it.
func TestStdioFlood(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0])
	c := w.stdio("--working-dir", w.project)
	c.do("session.start", nil)
	id := c.do("agent.execute", map[string]any{"command": `yes "$(printf 'ü%.0s' $(seq 500))" | head -c 40000000; echo done > done`})["command_id"]
	time.Sleep(50 * time.Millisecond)
	eventually(t, "the command is done", func() bool { return exists(w.project + "/done") })
	got, lost := 0, 0.0
	c.next(func(m lineMessage) bool {
		if m.Type == "event.terminal_output" {
			data := m.Payload["data"].(string)
			if e := m.Payload["encoding"]; e != nil && m.Payload["lost"] == nil {
				t.Errorf("a piece is told as %v", e)
			}
			got += len(data)
			if n, ok := m.Payload["lost"].(float64); ok {
				lost += n
			}
		}
		return m.Type == "event.step_completed" && m.Payload["command_id"] == id
	})
	if got == 0 || got+int(lost) < 39000000 {
		t.Errorf("%d bytes came, %.0f were lost", got, lost)
	}
	c.close()
}

// TestStdioPrompt: the real Claude Code works on a prompt, unasked, behind the session's
// walls; what it says comes as it says it, and what it did is a step.
func TestStdioPrompt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0])
	w.installAgents()
	secret := w.write(w.home+"/.ssh/id_ed25519", "SECRET key")
	m := w.model([]fakemodel.Turn{{Tool: "Bash", Input: map[string]any{"command": "cat " + secret + "; echo by the agent > made", "description": "work"}}, {Text: "it is done"}})
	w.setenv("ANTHROPIC_BASE_URL", m.URL)
	w.setenv("ANTHROPIC_API_KEY", "key-for-the-model")
	w.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
	c := w.stdio("--working-dir", w.project, "--agent", "claude")
	c.do("session.start", nil)
	id := c.do("agent.prompt", map[string]any{"prompt": headless})["command_id"]
	said := ""
	done := c.next(func(m lineMessage) bool {
		if m.Type == "event.agent_output" && m.Payload["command_id"] == id {
			said += m.Payload["data"].(string)
		}
		return m.Type == "event.step_completed" && m.Payload["command_id"] == id
	}).Payload
	if done["exit_code"] != 0.0 || !strings.Contains(said, "it is done") || w.read(w.project+"/made") != "by the agent\n" || fmt.Sprint(done["affected_paths"]) != "["+w.project+"/made]" {
		t.Errorf("%v, it said %q, the model heard %q", done, said, m.Results())
	}
	if !m.Heard(headless) || strings.Contains(strings.Join(m.Results(), ""), "SECRET") {
		t.Errorf("the model heard %q", m.Results())
	}
	if r := c.do("undo.rollback", map[string]any{"count": 1}); r["steps_rolled_back"] != 1.0 || exists(w.project+"/made") {
		t.Errorf("rolled back: %v", r)
	}
	c.close()
}

// TestStdioWithoutWalls: --backend none says so loudly, keeps the history, and holds what
// the client's safeguards hold.
func TestStdioWithoutWalls(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		secret := w.write(w.home+"/secret", "in sight\n")
		w.write(w.project+"/a", "a\n")
		c := w.stdio("--working-dir", w.project, "--backend", "none")
		c.do("safeguard.configure", map[string]any{"delete_threshold": 1})
		if got := c.do("session.start", nil); got["backend"] != "none" {
			t.Errorf("started: %v", got)
		}
		if e := c.event("warning"); !strings.Contains(e["message"].(string), "NO WALLS") {
			t.Errorf("said: %v", e)
		}
		c.do("agent.execute", map[string]any{"command": "cat " + secret + "; rm a; echo there > " + w.home + "/there"})
		c.do("safeguard.confirm", map[string]any{"safeguard_id": c.event("safeguard_triggered")["safeguard_id"], "action": "allow"})
		done := c.event("step_completed")
		if out := c.event("terminal_output"); out["data"] != "in sight\n" || w.read(w.home+"/there") != "there\n" || fmt.Sprint(done["affected_paths"]) != "["+w.project+"/a]" {
			t.Errorf("%v, said %v", done, out)
		}
		if r := c.do("undo.rollback", map[string]any{"count": 1}); r["steps_rolled_back"] != 1.0 || w.read(w.project+"/a") != "a\n" {
			t.Errorf("rolled back: %v", r)
		}
		c.close()
	})
}

// TestStdioPersistent: a persistent session goes on in the same workspace, which one client
// has at a time; an ephemeral one beside it has its own, and the same history.
func TestStdioPersistent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0])
	c, other := w.stdio("--working-dir", w.project), w.stdio("--working-dir", w.project)
	persistent := map[string]any{"vm_mode": "persistent"}
	name := c.do("session.start", persistent)["workspace"]
	c.execute("echo 1 > a")
	other.refused("invalid_field vm_mode", "session.start", persistent)
	if got := other.do("session.start", nil)["workspace"]; got == name {
		t.Errorf("the ephemeral one is %v", got)
	}
	if r := other.do("undo.rollback", map[string]any{"count": 1}); r["steps_rolled_back"] != 1.0 || exists(w.project+"/a") {
		t.Errorf("rolled back: %v", r)
	}
	c.do("session.stop", nil)
	if got := c.do("session.start", persistent)["workspace"]; got != name || c.do("session.status", nil)["vm_mode"] != "persistent" {
		t.Errorf("it goes on as %v, not %v", got, name)
	}
	c.close()
	other.close()
}

// TestStdioOutsideCeiling: a session in a directory that the ceiling does not give is
// refused at its start, and one in a directory that it gives works.
func TestStdioOutsideCeiling(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	away, read := w.home+"/away", w.home+"/read"
	w.write(away+"/a", "a")
	w.write(read+"/a", "a")
	mount := func(dir, mode string) map[string]any {
		return map[string]any{"host_path": dir, "workspace_path": dir, "mode": mode}
	}
	ceiling, err := json.Marshal(map[string]any{"network": map[string]any{"mode": "closed"}, "mounts": []any{mount(w.project,
		"read_write"), mount(read, "read_only")}})
	w.must(err)
	c := w.stdio("--permissions", w.write(w.home+"/ceiling.json", string(ceiling)))
	for _, dir := range []string{away, read} {
		if m := c.refused("carrel.refused", "session.start", startIn(dir)); m.Error.Carrel["code"] != "ceiling" ||
			m.Error.Carrel["rule"] != "files" {
			t.Errorf("%s: %+v", dir, m.Error)
		}
	}
	c.do("session.start", startIn(w.project))
	c.execute("echo made > made.txt")
	if got := w.read(w.project + "/made.txt"); got != "made\n" {
		t.Errorf("%q", got)
	}
}

// TestStdioControl: a session in a workspace that is read-only or paused changes
// nothing: neither what runs inside nor the history, which is outside of it.
func TestStdioControl(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	c := w.stdio("--working-dir", w.project)
	name := c.do("session.start", nil)["workspace"].(string)
	c.execute("echo 1 > a")
	c.do("undo.rollback", map[string]any{"count": 1})
	c.execute("echo 2 > b")
	for _, mode := range []string{"read_only", "paused"} {
		if e := w.carrel("control", name, mode); e.code != 0 {
			t.Fatal(e)
		}
		for kind, payload := range map[string]any{
			"agent.execute": map[string]any{"command": "touch c"}, "carrel.write": map[string]any{"path": "c", "content": "c"},
			"carrel.edit":   map[string]any{"path": "b", "old_string": "2", "new_string": "3"},
			"undo.rollback": map[string]any{"count": 1}, "carrel.redo": nil, "undo.discard": nil, "undo.configure": map[string]any{},
			"session.reset": nil,
		} {
			if m := c.ask(kind, payload); m.Status == "ok" || m.Error.Code != "carrel.refused" {
				t.Errorf("%s under %s: %+v", kind, mode, m)
			}
		}
		if list := c.do("undo.history", nil); list == nil || c.do("session.status", nil)["control"] != mode {
			t.Errorf("looking under %s: %v", mode, list)
		}
		if exists(w.project+"/a") || !exists(w.project+"/b") || exists(w.project+"/c") {
			t.Errorf("files are changed under %s", mode)
		}
	}
	c.do("session.stop", nil)
	c.do("session.start", nil) // another workspace does not give back what was taken from the program
	m := c.ask("agent.execute", map[string]any{"command": "touch c"})
	if m.Status == "ok" || c.do("session.status", nil)["control"] != "paused" {
		t.Errorf("a session after the one that was paused: %+v", m)
	}
	c.do("session.stop", nil)
	c.close()
}
