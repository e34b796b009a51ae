//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"carrel/test/fakemodel"
)

// awkward is a source that every further round of escapes would change.
const awkward = "line one\n\tline \"two\" \\n <b>&amp;\n\nünï\n"

// modelsLook is what a model looks at: a text, a picture, a long output.
func modelsLook(name func(tool string) fakemodel.Turn) []fakemodel.Turn {
	turn := func(tool string, input args) fakemodel.Turn {
		t := name(tool)
		t.Input = input
		return t
	}
	return []fakemodel.Turn{
		turn("read_file", args{"path": "awkward.txt", "line_numbers": false}),
		turn("read_file", args{"path": "awkward.txt"}),
		turn("Bash", args{"command": "cat awkward.txt; exit 3"}),
		turn("grep", args{"pattern": "two", "output_mode": "content"}),
		turn("Bash", args{"command": "echo the beginning; seq 1 14000; echo the end"}),
		turn("screenshot", args{}),
		{Text: "done"},
	}
}

// checkModelsLook holds what the client sends to its model.
func (w *world) checkModelsLook(r result, m *fakemodel.Server, picture string) {
	w.t.Helper()
	got := m.Results()
	if r.code != 0 || !m.Finished() || len(got) < 6 {
		w.t.Fatalf("the agent did not finish: %s\nresults: %.3000q", r, got)
	}
	numbered := "     1\tline one\n     2\t\tline \"two\" \\n <b>&amp;\n     3\t\n     4\tünï"
	for i, want := range [][]string{{strings.TrimSpace(awkward)}, {numbered}, {strings.TrimSpace(awkward), "[status 3]"},
		{"awkward.txt:2:\tline \"two\" \\n <b>&amp;"}, {"the beginning\n1\n2\n", "\n14000\nthe end\n", "app_log"}} {
		for _, part := range want {
			if !strings.Contains(got[i], part) {
				w.t.Errorf("result %d has no %q: %.700s ... %.300s", i, part, got[i], got[i][max(0, len(got[i])-300):])
			}
		}
	}
	if n := len(got[4]); n > 33_000 {
		w.t.Errorf("the long output has %d bytes", n)
	}
	if !m.Heard("iVBORw0KGgo") || !m.Heard(picture) {
		w.t.Errorf("the model sees no picture of kind %s: %.600s", picture, got[5])
	}
}

// modelsWorld is a world with the agents, the awkward file and a script.
func modelsWorld(t *testing.T, space string, name func(tool string) string) (*world, *fakemodel.Server) {
	w := newWorld(t, ordinary(t))
	w.need("Xvfb")
	w.installAgents()
	w.litter = true
	w.write(w.project+"/awkward.txt", awkward)
	return w, w.model(modelsLook(func(tool string) fakemodel.Turn { return fakemodel.Turn{Tool: name(tool), Space: space} }))
}

// TestModelOfClaudeCode: what Claude Code hands to its model is text as it is, and pictures.
func TestModelOfClaudeCode(t *testing.T) {
	t.Parallel()
	w, m := modelsWorld(t, "", func(tool string) string { return "mcp__carrel__" + tool })
	for name, value := range map[string]string{"ANTHROPIC_BASE_URL": m.URL, "ANTHROPIC_API_KEY": "k",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1"} {
		w.setenv(name, value)
	}
	config, _ := json.Marshal(args{"mcpServers": args{"carrel": args{"command": w.bin, "args": []string{"mcp"}}}})
	file := w.write(w.home+"/mcp.json", string(config))
	r := w.plain("claude", "-p", "do it", "--mcp-config", file, "--strict-mcp-config", "--dangerously-skip-permissions",
		"--output-format", "json")
	w.checkModelsLook(r, m, `"image/png"`)
}

// TestModelOfCodex is the same with Codex.
func TestModelOfCodex(t *testing.T) {
	t.Parallel()
	w, m := modelsWorld(t, "mcp__carrel", func(tool string) string { return tool })
	w.setenv("OPENAI_API_KEY", "k")
	w.write(w.home+"/.codex/config.toml", fmt.Sprintf("model = \"m\"\nmodel_provider = "+
		"\"local\"\n[model_providers.local]\nname = \"local\"\nbase_url = %q\nwire_api = \"responses\"\nenv_key = "+
		"\"OPENAI_API_KEY\"\n[mcp_servers.carrel]\ncommand = %q\nargs = [\"mcp\"]\nenv_vars = [\"XDG_RUNTIME_DIR\"]\n", m.URL+"/v1", w.bin))
	r := w.plain("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "do it")
	w.checkModelsLook(r, m, `"input_image"`)
}

// TestModelOfGemini is the same with Gemini CLI.
func TestModelOfGemini(t *testing.T) {
	t.Parallel()
	w, m := modelsWorld(t, "", func(tool string) string { return "mcp_carrel_" + tool })
	settings, _ := json.Marshal(args{"security": args{"auth": args{"selectedType": "gemini-api-key"},
		"folderTrust": args{"enabled": false}}, "privacy": args{"usageStatisticsEnabled": false},
		"mcpServers": args{"carrel": args{"command": w.bin, "args": []string{"mcp"}, "trust": true}}})
	w.write(w.home+"/.gemini/settings.json", string(settings))
	w.setenv("GEMINI_API_KEY", "k")
	w.setenv("GOOGLE_GEMINI_BASE_URL", m.URL)
	r := w.plain("gemini", "-m", "gemini-2.5-pro", "--yolo", "-p", "do it")
	w.checkModelsLook(r, m, `"image/png"`)
}

// TestModelOfOpenCode is the same with OpenCode.
func TestModelOfOpenCode(t *testing.T) {
	t.Parallel()
	w, m := modelsWorld(t, "", func(tool string) string { return "carrel_" + tool })
	w.setenv("OPENCODE_DISABLE_MODELS_FETCH", "1")
	config, _ := json.Marshal(args{"model": "local/m",
		"provider": args{"local": args{"npm": "@ai-sdk/openai-compatible", "name": "local", "options": args{"baseURL": m.URL + "/v1",
			"apiKey": "k"},
			"models": args{"m": args{"name": "m", "attachment": true, "modalities": args{"input": []string{"text", "image"},
				"output": []string{"text"}}}}}},
		"mcp": args{"carrel": args{"type": "local", "command": []string{w.bin, "mcp"}, "enabled": true}}})
	w.write(w.home+"/.config/opencode/opencode.json", string(config))
	r := w.plain("opencode", "run", "do it")
	w.checkModelsLook(r, m, `"image_url"`)
}
