//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"carrel/test/fakemodel"
)

// agentsWork is what an agent does with the tools: it runs a command, edits, looks at the
// desktop, is refused something, and takes its work back.
func (w *world) agentsWork(name func(tool string) string) []fakemodel.Turn {
	return []fakemodel.Turn{
		{Tool: name("Bash"), Input: args{"command": "echo written by nobody > work.txt; cat ~/.ssh/id_ed25519; echo ran", "description": "work"}},
		{Tool: name("edit_file"), Input: args{"path": "work.txt", "old_string": "nobody", "new_string": "the agent"}},
		{Tool: name("screenshot"), Input: args{}},
		{Tool: name("write_file"), Input: args{"path": ".git/hooks/pre-commit", "content": "evil"}},
		{Tool: name("Bash"), Input: args{"command": "cat work.txt", "description": "look"}},
		{Tool: name("undo"), Input: args{"count": 1}},
		{Tool: name("read_file"), Input: args{"path": "work.txt"}},
		{Text: "done"},
	}
}

func (w *world) checkAgentsWork(r result, m *fakemodel.Server) {
	w.t.Helper()
	got := m.Results()
	if r.code != 0 || !m.Finished() || len(got) < 7 {
		w.t.Fatalf("the agent did not finish: %s\nresults: %q", r, got)
	}
	for i, want := range []string{"ran", "1 replacement", "", "denied", "written by the agent", "steps_rolled_back", "written by nobody"} {
		if !strings.Contains(got[i], want) {
			w.t.Errorf("result %d has no %q: %.600s", i, want, got[i])
		}
	}
	if all := strings.Join(got, "\n"); strings.Contains(all, "SECRET") {
		w.t.Errorf("a secret was seen: %s", all)
	}
	if got := w.read(w.project + "/work.txt"); got != "written by nobody\n" {
		w.t.Errorf("after the undo: %q", got)
	}
	if exists(w.project + "/.git/hooks/pre-commit") {
		w.t.Error("a hook was planted")
	}
	eventually(w.t, "its workspace ends", func() bool { return !strings.Contains(w.carrel("ps", "--json").out, "-mcp-") })
}

// TestMCPClaudeCode: the real program, outside of any walls, with carrel's tools.
func TestMCPClaudeCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb")
	w.installAgents()
	w.litter = true
	w.need("git")
	w.repository()
	w.write(w.home+"/.ssh/id_ed25519", "SECRET key")
	m := w.model(w.agentsWork(func(tool string) string { return "mcp__carrel__" + tool }))
	for name, value := range map[string]string{"ANTHROPIC_BASE_URL": m.URL, "ANTHROPIC_API_KEY": "k", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1"} {
		w.setenv(name, value)
	}
	config, _ := json.Marshal(args{"mcpServers": args{"carrel": args{"command": w.bin, "args": []string{"mcp"}}}})
	file := w.write(w.home+"/mcp.json", string(config))
	r := w.plain("claude", "-p", "do it", "--mcp-config", file, "--strict-mcp-config", "--dangerously-skip-permissions", "--output-format", "json")
	w.checkAgentsWork(r, m)
}

// TestMCPCodex is the same with another one.
func TestMCPCodex(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb")
	w.installAgents()
	w.litter = true
	w.need("git")
	w.repository()
	w.write(w.home+"/.ssh/id_ed25519", "SECRET key")
	turns := w.agentsWork(func(tool string) string { return tool })
	for i := range turns {
		turns[i].Space = "mcp__carrel"
	}
	m := w.model(turns)
	w.setenv("OPENAI_API_KEY", "k")
	w.write(w.home+"/.codex/config.toml", fmt.Sprintf("model = \"m\"\nmodel_provider = \"local\"\n[model_providers.local]\nname = \"local\"\nbase_url = %q\nwire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\n[mcp_servers.carrel]\ncommand = %q\nargs = [\"mcp\"]\nenv_vars = [\"XDG_RUNTIME_DIR\"]\n", m.URL+"/v1", w.bin))
	r := w.plain("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "do it")
	w.checkAgentsWork(r, m)
}
