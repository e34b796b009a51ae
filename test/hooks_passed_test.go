//go:build linux

package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"carrel/internal/hooks"
	"carrel/test/fakemodel"
)

// TestStepsWithoutHooks: each tool call of other agents than Claude Code is a step that is undone alone,
// though no file of the person's has hooks; and one step only where one has them.
func TestStepsWithoutHooks(t *testing.T) {
	t.Parallel()
	for _, a := range passedTos {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			a.check(t, nil)
		})
		if a.installed != nil {
			t.Run(a.name+" with hooks", func(t *testing.T) {
				t.Parallel()
				a.check(t, a.installed)
			})
		}
	}
}

// TestHooksInGvisor: the real agents mark their tool calls under another kernel too, but for OpenCode,
// whose plugin is a file beside our programs.
func TestHooksInGvisor(t *testing.T) {
	t.Parallel()
	for _, a := range append([]passedTo{{"claude", "Bash", "command",
		[]string{"claude", "-p", "do it", "--dangerously-skip-permissions", "--output-format", "json"}, claudeOf, nil}}, passedTos...) {
		if a.name == "opencode" {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			a.checkIn(gvisorWorld(t, ordinary(t)), nil, append(inGvisor, "--network", "local")...)
		})
	}
}

var passedTos = []passedTo{
	{"codex", "exec_command", "cmd", []string{"codex", "exec", "--skip-git-repo-check",
		"--dangerously-bypass-approvals-and-sandbox", "do it"},
		codexOf, installedAndTrusted},
	{"gemini", "run_shell_command", "command", []string{"gemini", "-m", "gemini-2.5-pro", "--yolo", "-p", "do it"}, geminiOf, installed},
	{"opencode", "bash", "command", []string{"opencode", "run", "do it"}, opencodeOf, nil},
}

// passedTo is an agent that gets hooks passed, and how to give it work.
type passedTo struct {
	name, tool, argument string
	argv                 []string
	prepare              func(w *world, m *fakemodel.Server)
	installed            func(w *world, agent string) // puts hooks into the person's settings, too
}

func (a passedTo) check(t *testing.T, more func(*world, string)) {
	a.checkIn(newWorld(t, ordinary(t)), more)
}

func (a passedTo) checkIn(w *world, more func(*world, string), flags ...string) {
	t := w.t
	w.installAgents()
	w.litter = true
	shell := func(command string) fakemodel.Turn {
		return fakemodel.Turn{Tool: a.tool, Input: map[string]any{a.argument: command, "description": "work"}}
	}
	m := w.model([]fakemodel.Turn{shell("echo first | tee -a a"), shell("echo second | tee -a b; exit 3"), {Text: "done"}})
	a.prepare(w, m)
	if len(flags) > 0 { // a network of its own
		flags = append(flags, "--host-port", m.URL[strings.LastIndexByte(m.URL, ':')+1:])
	}
	if more != nil {
		more(w, a.name)
	}
	before := w.outsideSh(settingsOf)
	if r := w.run(slices.Concat(flags, []string{"--"}, a.argv)...); r.code != 0 || !m.Finished() {
		t.Fatalf("%s\n%q", r, m.Results())
	}
	w.checkSteps(a.name)
	if after := w.outsideSh(settingsOf); after != before {
		t.Errorf("the person's settings: %s\nwere: %s", after, before)
	}
	if r := w.carrel("undo"); r.code != 0 || w.outsideSh("ls b 2>/dev/null || true") != "" || w.read(w.project+"/a") != "first\n" {
		t.Errorf("one call taken back: %s", r)
	}
}

func installed(w *world, agent string) {
	w.outsideSh("mkdir -p ~/." + agent)
	if r := w.carrel("hooks", "install", agent); r.code != 0 {
		w.t.Fatal(r)
	}
}

// installedAndTrusted has Codex run the hooks of the file, as after a look at them.
func installedAndTrusted(w *world, _ string) {
	config := w.home + "/.codex/config.toml"
	flag := hooks.Pass("codex", "/run/carrel/bin/carrel", "").Flags[1]
	w.write(config, strings.ReplaceAll(flag, "/<session-flags>/config.toml", config)+"\n"+w.read(config))
}

// settingsOf tells the settings of all agents.
const settingsOf = "cd ~ && find .claude .codex .gemini .config/opencode -maxdepth 1 -type f 2>/dev/null | sort | xargs -r sha256sum"

func claudeOf(w *world, m *fakemodel.Server) {
	w.setenv("ANTHROPIC_BASE_URL", m.URL)
	w.setenv("ANTHROPIC_API_KEY", "k")
	w.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
	w.setenv("DISABLE_TELEMETRY", "1")
}

func codexOf(w *world, m *fakemodel.Server) {
	w.setenv("OPENAI_API_KEY", "k")
	w.write(w.home+"/.codex/config.toml", "model = \"m\"\nmodel_provider = \"local\"\n[model_providers.local]\nname = \"local\"\n"+
		"base_url = \""+m.URL+"/v1\"\nwire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\n")
}

func geminiOf(w *world, m *fakemodel.Server) {
	w.setenv("GEMINI_API_KEY", "k")
	w.setenv("GOOGLE_GEMINI_BASE_URL", m.URL)
	w.write(w.home+"/.gemini/settings.json", `{"security":{"auth":{"selectedType":"gemini-api-key"},`+
		`"folderTrust":{"enabled":false}},"privacy":{"usageStatisticsEnabled":false}}`)
}

func opencodeOf(w *world, m *fakemodel.Server) {
	w.setenv("OPENCODE_DISABLE_MODELS_FETCH", "1")
	w.setenv("OPENCODE_PERMISSION", `{"*":"allow"}`)
	config, _ := json.Marshal(args{"model": "local/m", "provider": args{"local": args{
		"npm": "@ai-sdk/openai-compatible", "name": "local", "options": args{"baseURL": m.URL + "/v1", "apiKey": "k"},
		"models": args{"m": args{"name": "m"}},
	}}})
	w.write(w.home+"/.config/opencode/opencode.json", string(config))
}
