//go:build linux

package e2e

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"carrel/test/fakemodel"
)

// besideCarrel runs an agent of the person outside, with a program in carrel's
// place that writes down how it is called and with what on standard input.
func (w *world) besideCarrel(agent ...string) (result, string) {
	w.t.Helper()
	stub := w.script(w.home+"/stub", program("hooks/stub.sh"))
	w.outsideSh("rm -f ~/calls ~/events")
	args := []string{"--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--tmpfs", "/run", "--dir", "/run/carrel/bin",
		"--ro-bind", stub, "/run/carrel/bin/carrel", "--die-with-parent", "--"}
	r := w.plain("bwrap", append(args, agent...)...)
	return r, w.outsideSh("cat ~/calls 2>/dev/null || true")
}

// checkSteps wants each tool call of the run to be a step of the history.
func (w *world) checkSteps(label string) {
	w.t.Helper()
	r := w.carrel("history", "--json")
	var steps []struct {
		Label           string `json:"label"`
		Added, Modified int
	}
	if err := json.Unmarshal([]byte(r.out), &steps); err != nil {
		w.t.Fatalf("%v: %s", err, r)
	}
	if len(steps) != 2 || !strings.HasPrefix(steps[0].Label, label+": ") || !strings.HasPrefix(steps[1].Label, label+": ") || steps[0].Added+steps[0].Modified != 1 || steps[1].Added+steps[1].Modified != 1 {
		w.t.Errorf("steps: %s", r)
	}
}

// TestHooksOfClaudeCode: the real program runs the hooks at each tool call, also
// at one that fails; without carrel, and with a carrel that knows no steps, they
// are not noticed.
func TestHooksOfClaudeCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("bwrap")
	w.installAgents()
	w.litter = true
	mine := "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"echo mine >> ~/mine\"}]}\n    ]\n  },\n  \"model\": \"m\"\n}\n"
	settings := w.write(w.home+"/.claude/settings.json", mine)
	w.setenv("ANTHROPIC_API_KEY", "k")
	w.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
	w.setenv("DISABLE_TELEMETRY", "1")
	claude := []string{"claude", "-p", "do it", "--dangerously-skip-permissions", "--output-format", "json"}
	play := func() *fakemodel.Server {
		bash := func(command string) fakemodel.Turn {
			return fakemodel.Turn{Tool: "Bash", Input: map[string]any{"command": command, "description": "work"}}
		}
		m := w.model([]fakemodel.Turn{bash("echo first | tee -a a"), bash("echo second | tee -a b; exit 3"), {Text: "done"}})
		w.setenv("ANTHROPIC_BASE_URL", m.URL)
		return m
	}
	check := func(r result, m *fakemodel.Server) {
		t.Helper()
		if all := strings.Join(m.Results(), "\n"); r.code != 0 || !m.Finished() || !strings.Contains(all, "first") || !strings.Contains(all, "second") || strings.Contains(all, "noise") {
			t.Errorf("the agent: %s\nresults: %q", r, all)
		}
	}
	if r := w.carrel("hooks", "install", "claude"); r.code != 0 {
		t.Fatal(r)
	}
	m := play()
	r, calls := w.besideCarrel(claude...)
	check(r, m)
	if want := "step note --event\nstep begin --label claude --event\nstep end --event\nstep begin --label claude --event\nstep end --event\nstep end --event\n"; calls != want {
		t.Errorf("calls: %q, want %q", calls, want)
	}
	if events := w.outsideSh("cat ~/events"); !strings.Contains(events, `"hook_event_name":"PostToolUseFailure"`) || !strings.Contains(events, `"tool_input":{"command":"echo first`) {
		t.Errorf("events: %s", events)
	}
	if got := w.read(w.home + "/mine"); got != "mine\nmine\n" {
		t.Errorf("the person's own hook: %q", got)
	}
	m = play()
	check(w.plain(claude[0], claude[1:]...), m)
	m = play()
	check(w.run(append([]string{"--"}, claude...)...), m)
	w.checkSteps("claude")

	if r := w.carrel("hooks", "remove"); r.code != 0 || w.read(settings) != mine {
		t.Errorf("removed: %s\n%s", r, w.read(settings))
	}
	m = play()
	r, calls = w.besideCarrel(claude...)
	check(r, m)
	if calls != "" {
		t.Errorf("calls without hooks: %q", calls)
	}
}

// TestHooksOfCodex: the same, once the person has looked at the hooks.
func TestHooksOfCodex(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("bwrap")
	w.installAgents()
	w.litter = true
	w.setenv("OPENAI_API_KEY", "k")
	config := w.home + "/.codex/config.toml"
	shell := func(command string) fakemodel.Turn {
		return fakemodel.Turn{Tool: "exec_command", Input: map[string]any{"cmd": command}}
	}
	codex := []string{"codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "do it"}
	play := func() *fakemodel.Server {
		return w.model([]fakemodel.Turn{shell("echo first >> a"), shell("echo second >> b; exit 3"), {Text: "done"}})
	}
	m := play()
	mine := "# mine\nmodel = \"m\"\nmodel_provider = \"local\"\n[model_providers.local]\nname = \"local\"\nbase_url = \"" + m.URL + "/v1\"\nwire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\n"
	w.write(config, mine)
	again := func() *fakemodel.Server {
		next := play()
		w.write(config, strings.ReplaceAll(w.read(config), m.URL, next.URL))
		m = next
		return next
	}
	if r := w.carrel("hooks", "install", "codex"); r.code != 0 || !strings.Contains(r.out, "start codex outside") {
		t.Fatal(r)
	}
	r, calls := w.besideCarrel(codex...)
	if r.code != 0 || !m.Finished() || calls != "" {
		t.Errorf("hooks that nobody has looked at: %s\n%q", r, calls)
	}

	// Its interactive program leaves a daemon behind, which ends with this pid namespace.
	tm := w.openTerminal(w.command("bwrap", "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc", "--unshare-pid", "--die-with-parent", "--", "codex"))
	tm.expect(`3 hooks are new or changed`)
	tm.expect(`Trust`)
	waitABit()
	tm.send("2")
	waitABit()
	tm.send("\r")
	for deadline := time.Now().Add(20 * time.Second); strings.Count(w.read(config), "trusted_hash") < 3; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no trust: %s\n%q", w.read(config), tm.all()[max(0, len(tm.all())-1500):])
		}
	}
	quit(tm)
	if r := w.carrel("hooks", "status", "codex"); r.code != 0 || strings.Contains(r.out, "note") || !strings.Contains(r.out, "installed") {
		t.Errorf("status: %s", r)
	}

	again()
	r, calls = w.besideCarrel(codex...)
	if want := "step begin --label codex --event\nstep end --event\nstep begin --label codex --event\nstep end --event\nstep end --event\n"; r.code != 0 || !m.Finished() || calls != want {
		t.Errorf("calls: %q, want %q; %s", calls, want, r)
	}
	again()
	if r := w.run(append([]string{"--"}, codex...)...); r.code != 0 || !m.Finished() || !strings.Contains(r.err, "hook: PreToolUse Completed") {
		t.Errorf("inside: %s", r)
	}
	w.checkSteps("codex")
	if r := w.carrel("hooks", "remove", "codex"); r.code != 0 || strings.Contains(w.read(config), "step begin") || !strings.HasPrefix(w.read(config), "# mine\nmodel = \"m\"\n") {
		t.Errorf("removed: %s\n%s", r, w.read(config))
	}
	if out, err := exec.Command("grep", "-c", "trusted_hash", config).Output(); err != nil || string(out) != "3\n" {
		t.Errorf("what Codex had written: %q, %v", out, err)
	}
}

// quit ends a program on a terminal that wants to be asked more than once.
func quit(tm *terminal) {
	for range 4 {
		tm.send("\x03")
		waitABit()
		select {
		case <-tm.done:
			return
		default:
		}
	}
	tm.wait()
}
