//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/test/fakemodel"
)

// aClient is one of the four programs, as a person has it before carrel.
type aClient struct {
	name    string
	files   map[string]string // settings of the person's own, below the home; URL stands for the model's
	rewrite string            // one that the program writes anew, compared by what it says
	environ map[string]string
	command []string
	bash    fakemodel.Turn // of carrel
	own     []fakemodel.Turn
	unseen  string // runs hooks that the person has not looked at
}

const ownFiles = "echo own > own.txt"

var fourClients = []aClient{
	{
		name:    "claude",
		files:   map[string]string{".claude/settings.json": "{\n  \"permissions\": {\n    \"deny\": [\"Bash(rm *)\", \"Glob\"]\n  }\n}\n", ".claude.json": "{\"mcpServers\": {}}"},
		rewrite: ".claude.json",
		environ: map[string]string{"ANTHROPIC_BASE_URL": "URL", "ANTHROPIC_API_KEY": "k", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1"},
		command: []string{"claude", "-p", "do it", "--dangerously-skip-permissions", "--output-format", "json"},
		bash:    fakemodel.Turn{Tool: "mcp__carrel__Bash"},
		own:     []fakemodel.Turn{{Tool: "Bash", Input: args{"command": ownFiles, "description": "x"}}, {Tool: "Write", Input: args{"file_path": "PROJECT/own.txt", "content": "own"}}},
	},
	{
		name:    "codex",
		files:   map[string]string{".codex/config.toml": "# mine\nmodel = \"gpt-5.5\"\nmodel_provider = \"local\"\n[model_providers.local]\nname = \"local\"\nbase_url = \"URL/v1\"\nwire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\" # no end of line"},
		environ: map[string]string{"OPENAI_API_KEY": "k"},
		command: []string{"codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "do it"},
		bash:    fakemodel.Turn{Tool: "Bash", Space: "mcp__carrel"},
		own:     []fakemodel.Turn{{Tool: "exec_command", Input: args{"cmd": ownFiles}}, {Tool: "apply_patch", Free: true, Input: args{"input": "*** Begin Patch\n*** Add File: own.txt\n+own\n*** End Patch\n"}}},
		unseen:  "--dangerously-bypass-hook-trust",
	},
	{
		name: "gemini",
		files: map[string]string{
			".gemini/settings.json":       "{\n  // mine\n  \"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}, \"folderTrust\": {\"enabled\": true}},\n  \"privacy\": {\"usageStatisticsEnabled\": false}\n}\n",
			".gemini/trustedFolders.json": `{"PROJECT":"TRUST_FOLDER"}`,
		},
		environ: map[string]string{"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": "URL"},
		command: []string{"gemini", "-m", "gemini-2.5-pro", "-y", "-p", "do it"},
		bash:    fakemodel.Turn{Tool: "mcp_carrel_Bash"},
		own:     []fakemodel.Turn{{Tool: "run_shell_command", Input: args{"command": ownFiles}}, {Tool: "write_file", Input: args{"file_path": "own.txt", "content": "own"}}},
	},
	{
		name:    "opencode",
		files:   map[string]string{".config/opencode/opencode.jsonc": "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"model\": \"local/m\", // mine\n  \"permission\": \"allow\",\n  \"provider\": {\"local\": {\"npm\": \"@ai-sdk/openai-compatible\", \"name\": \"local\", \"options\": {\"baseURL\": \"URL/v1\", \"apiKey\": \"k\"}, \"models\": {\"m\": {\"name\": \"m\"}}}},\n}\n"},
		environ: map[string]string{"OPENCODE_DISABLE_MODELS_FETCH": "1"},
		command: []string{"opencode", "run", "do it"},
		bash:    fakemodel.Turn{Tool: "carrel_Bash"},
		own:     []fakemodel.Turn{{Tool: "bash", Input: args{"command": ownFiles, "description": "x"}}, {Tool: "write", Input: args{"filePath": "own.txt", "content": "own"}}},
	},
}

// TestClients: each of the four real programs is set up, does its work with
// carrel's tools and cannot with its own, and is as before when carrel is taken
// out again.
func TestClients(t *testing.T) {
	t.Parallel()
	for _, c := range fourClients {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, ordinary(t))
			w.installAgents()
			w.litter = true
			w.need("git")
			w.repository()
			before := map[string]string{}
			for name, text := range c.files {
				before[name] = strings.ReplaceAll(text, "PROJECT", w.project)
				w.write(w.home+"/"+name, before[name])
			}
			if r := w.carrel("agent", "setup", c.name, "--block-builtin"); r.code != 0 {
				t.Fatal(r)
			}
			if c.name != "opencode" { // each run of it costs seconds of processor time
				w.useClient(c)
			}
			if r := w.carrel("agent", "setup", c.name, "--block-builtin", "--while-serving"); r.code != 0 {
				t.Fatal(r)
			}
			if c.unseen != "" {
				c.command = append(c.command[:len(c.command):len(c.command)], c.unseen)
			}
			w.useClient(c)
			if c.name == "gemini" { // the others: TestHooksOf..., OpenCode takes too long
				w.insideClient(c)
			}
			if r := w.carrel("agent", "remove", c.name); r.code != 0 {
				t.Fatal(r)
			}
			for name, text := range before {
				got := w.read(w.home + "/" + name)
				if name == c.rewrite {
					var said struct{ McpServers map[string]any }
					if err := json.Unmarshal([]byte(got), &said); err != nil || said.McpServers == nil || len(said.McpServers) > 0 {
						t.Errorf("%s: %v: %s", name, err, got)
					}
				} else if got != text {
					t.Errorf("%s: %q, want %q", name, got, text)
				}
			}
			if left := w.outsideSh("grep -rIl 'agent gate\\|--client\\|step begin\\|Your workspace' ~ --include=settings.json --include='*.toml' --include='*.js' --include=SKILL.md --include='opencode.json*' --exclude-dir=node_modules --exclude-dir=projects || true"); left != "" {
				t.Errorf("carrel is still in %s", left)
			}
			if r := w.carrel("agent", "status", c.name, "--json"); strings.Contains(r.out, `"yes"`) || strings.Contains(r.out, "true") {
				t.Errorf("status: %s", r)
			}
		})
	}
}

// useClient has a client work: with carrel's tool, which must succeed, and with
// its own, which must not.
func (w *world) useClient(c aClient) {
	w.t.Helper()
	w.outsideSh("rm -f " + w.project + "/*.txt")
	c.bash.Input = args{"command": "echo desk > desk.txt; cat desk.txt", "description": "work"}
	turns := []fakemodel.Turn{c.bash}
	for _, turn := range c.own {
		input := args{}
		for k, v := range turn.Input {
			input[k] = strings.ReplaceAll(fmt.Sprint(v), "PROJECT", w.project)
		}
		turn.Input = input
		turns = append(turns, turn)
	}
	m, restore := w.modelOf(c, turns)
	defer restore()
	r := w.plain(c.command[0], c.command[1:]...)
	if r.code != 0 || !m.Finished() {
		w.t.Fatalf("%s did not finish: %s\n%q", c.name, r, m.Results())
	}
	if exists(w.project + "/own.txt") {
		w.t.Errorf("%s's own tools: %q", c.name, m.Results())
	}
	if !exists(w.project+"/desk.txt") || !m.Heard("How to use your workspace") {
		w.t.Errorf("%s with carrel: desk.txt %v, skill %v; %q", c.name, exists(w.project+"/desk.txt"), m.Heard("How to use your workspace"), m.Results())
	}
	// The server takes its workspace down when the client is gone already.
	eventually(w.t, "the server of "+c.name+" ends", func() bool {
		return strings.Contains(w.carrel("agent", "status", c.name, "--json").out, `"serving": 0`)
	})
}

// modelOf starts a model where the client looks for one; restore gives its settings
// their own bytes back.
func (w *world) modelOf(c aClient, turns []fakemodel.Turn) (m *fakemodel.Server, restore func()) {
	w.t.Helper()
	m = w.model(append(turns, fakemodel.Turn{Text: "done"}))
	for name, value := range c.environ {
		w.setenv(name, strings.ReplaceAll(value, "URL", m.URL))
	}
	restore = func() {}
	for name, text := range c.files {
		if path := w.home + "/" + name; strings.Contains(text, "URL/v1") {
			w.write(path, strings.ReplaceAll(w.read(path), "URL/v1", m.URL+"/v1"))
			restore = func() { w.write(path, strings.ReplaceAll(w.read(path), m.URL+"/v1", "URL/v1")) }
		}
	}
	return m, restore
}

// insideClient has a client work in a workspace: its own tools are let through
// there, and each call is a step.
func (w *world) insideClient(c aClient) {
	w.t.Helper()
	var turns []fakemodel.Turn
	for _, name := range []string{"one", "two"} {
		turn := c.own[0]
		turn.Input = args{"command": "echo x > " + name + ".inside", "description": "x"}
		turns = append(turns, turn)
	}
	m, restore := w.modelOf(c, turns)
	defer restore()
	if r := w.run(append([]string{"--"}, c.command...)...); r.code != 0 || !m.Finished() || !exists(w.project+"/two.inside") {
		w.t.Errorf("inside: %s\n%q", r, m.Results())
	}
	r := w.carrel("history", "--json")
	if strings.Count(r.out, `"label": "`+c.name+": ") != 2 {
		w.t.Errorf("steps: %s", r)
	}
}

// TestGateOfKilledServer: the gate holds as long as the server lives, also of
// several, and no longer.
func TestGateOfKilledServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true
	// The shell is the client: it starts servers and, as hooks, gates.
	out := w.outsideSh("set -- " + w.bin + "\n" + program("clients/gate_of_killed_server.bash"))
	want := "gate 0\nBash is not to be used here"
	if !strings.HasPrefix(out, want) || strings.Count(out, "gate 2") != 2 || !strings.Contains(out, "gate 2\ngate 0\nremoved 1 leases") {
		t.Errorf("%s", out)
	}
}

// TestSetupKilled: kill -9 at any moment of a setup; what is healed is whole.
func TestSetupKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true
	mine := "{\"permissions\": {\"deny\": [\"Bash\"]}}"
	settings := w.write(w.home+"/.claude/settings.json", mine)
	for i := range 12 {
		cmd := w.command(w.bin, "agent", "setup", "claude", "gemini", "codex", "--block-builtin")
		w.must(w.start(cmd))
		time.Sleep(time.Duration(i*i) * 700 * time.Microsecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if r := w.carrel("agent", "heal"); r.code != 0 {
			t.Fatal(r)
		}
		var list []struct {
			Registered, Blocked string
			Hooks, Skill        bool
		}
		r := w.carrel("agent", "status", "claude", "gemini", "codex", "--json")
		w.must(json.Unmarshal([]byte(r.out), &list))
		for _, s := range list[1:] {
			if s != list[0] && s.Registered != "no" {
				t.Errorf("after a kill: %s", r)
			}
		}
		if left, _ := filepath.Glob(w.home + "/.*/.*.carrel-*"); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
		if i%2 == 1 {
			if r := w.carrel("agent", "remove"); r.code != 0 || w.read(settings) != mine {
				t.Errorf("%s %s", r, w.read(settings))
			}
			if names, err := os.ReadDir(w.home + "/.gemini"); err == nil {
				t.Errorf("left: %v", names)
			}
		}
	}
}
