//go:build linux

package e2e

import (
	"slices"
	"strings"
	"testing"

	"carrel/test/fakemodel"
)

// TestGemini: Gemini CLI, started by its name with its questions off.
func TestGemini(t *testing.T) {
	asUser(t, testGemini)
}

func testGemini(t *testing.T, p person) {
	w := newWorld(t, p)
	w.installAgents()
	w.workshop("gemini")
	// Its shell tool gives git no configuration but the repository's.
	w.outsideSh("git config user.name 'Carla Desk' && git config user.email carla@example.com")
	const settings = `{"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":true}},"privacy":{"usageStatisticsEnabled":false}}`
	w.write(w.home+"/.gemini/settings.json", settings)
	files := "./oauth_creds.json\n./settings.json\n"
	if p.uid != 0 { // root has not trusted the folder, and starts with the questions off
		w.write(w.home+"/.gemini/trustedFolders.json", `{"`+w.project+`":"TRUST_FOLDER"}`)
		files += "./trustedFolders.json\n"
	}
	login := w.write(w.home+"/.gemini/oauth_creds.json", `{"access_token":"old","refresh_token":"r","expiry_date":1}`)
	w.write(w.home+"/.agents/skills/own/SKILL.md", "the person's own skill\n")
	w.setenv("GEMINI_API_KEY", "key-for-the-model")
	run := func(turns []fakemodel.Turn) (result, *fakemodel.Server) {
		m := w.model(turns)
		w.setenv("GOOGLE_GEMINI_BASE_URL", m.URL)
		// With a model that is named, no other is asked which one to take.
		return w.byName("gemini", "-m", "gemini-2.5-pro"), m
	}
	shell := func(command string) fakemodel.Turn {
		return fakemodel.Turn{Tool: "run_shell_command", Input: map[string]any{"command": command}}
	}
	r, m := run([]fakemodel.Turn{
		{Tool: "write_file", Input: map[string]any{"file_path": w.project + "/work.txt", "content": "written by nobody\n"}},
		{Tool: "replace", Input: map[string]any{"file_path": w.project + "/work.txt", "instruction": "name the author", "old_string": "nobody", "new_string": "the agent"}},
		shell(theDay),
		shell(theNight("gemini")),
		shell(`echo '{"hooksConfig":"evil"}' > ~/.gemini/settings.json; mkdir -p ~/.gemini/commands; echo evil > ~/.gemini/commands/x.toml; echo evil > ~/.gemini/GEMINI.md; sed -i s/old/new/ ~/.gemini/oauth_creds.json; echo kept > ~/.gemini/notebook`),
		{Text: "done"},
	})
	w.checkDay("gemini", r, m)
	if keys := m.Keys(); !slices.Equal(keys, []string{"key-for-the-model"}) {
		t.Errorf("keys: %q", keys)
	}
	if got := w.read(w.home + "/.gemini/settings.json"); got != settings {
		t.Errorf("settings on the host: %s", got)
	}
	if got := w.outsideSh("cd ~/.gemini && find . -type f | sort"); got != files {
		t.Errorf("files in ~/.gemini on the host: %s", got)
	}
	if got := w.read(login); !strings.Contains(got, `"new"`) {
		t.Errorf("the login on the host: %s", got)
	}
	key := w.storeGeminiKey()
	r, m = run([]fakemodel.Turn{shell("cat ~/.agents/skills/own/SKILL.md ~/.gemini/notebook ~/.gemini/settings.json; echo; cat ~/.gemini/GEMINI.md; ls ~/.gemini/commands; ls ~/.gemini/tmp/*/chats | wc -l"), {Text: "done"}})
	if r.code != 0 || len(m.Results()) != 1 || !strings.Contains(m.Results()[0], "the person's own skill\nkept\n"+strings.TrimSuffix(settings, "}")) || !strings.Contains(m.Results()[0], "\n2\n") || strings.Contains(m.Results()[0], "evil") {
		t.Errorf("the second run: %s %q", r, m.Results())
	}
	if keys := m.Keys(); !slices.Equal(keys, []string{key}) {
		t.Errorf("keys of the second run: %q, want %q", keys, key)
	}
}

// storeGeminiKey puts the key of the model where Gemini CLI keeps what was typed
// into it on a machine without a keyring, and takes the variable away. Who has
// no name cannot have such a file, and keeps the variable.
func (w *world) storeGeminiKey() string {
	w.t.Helper()
	if w.plain("id", "-un").code != 0 {
		return "key-for-the-model"
	}
	w.unsetenv("GEMINI_API_KEY")
	w.write(w.home+"/.gemini/gemini-credentials.json", strings.TrimSpace(w.plain("node", "-e", program("agents_gemini_opencode/store_key.js")).out))
	return "stored-key"
}

// TestOpenCode: OpenCode with a model of the person's own and a login that is
// stored for it, its questions off by the person's own configuration of carrel.
func TestOpenCode(t *testing.T) {
	asUser(t, testOpenCode)
}

func testOpenCode(t *testing.T, p person) {
	w := newWorld(t, p)
	w.installAgents()
	w.workshop("opencode")
	w.write(w.home+"/.config/carrel/config.yaml", "agents:\n  prompts_off: true\n")
	login := w.write(w.home+"/.local/share/opencode/auth.json", `{"local":{"type":"api","key":"key-for-the-model"},"other":{"type":"oauth","access":"old-token","refresh":"r","expires":1}}`)
	w.write(w.home+"/.agents/skills/own/SKILL.md", "the person's own skill\n")
	w.setenv("OPENCODE_DISABLE_MODELS_FETCH", "1")
	config := w.home + "/.config/opencode/opencode.json"
	run := func(turns []fakemodel.Turn) (result, *fakemodel.Server) {
		m := w.model(turns)
		w.write(config, `{"model":"local/m","provider":{"local":{"npm":"@ai-sdk/openai-compatible","name":"local","options":{"baseURL":"`+m.URL+`/v1"},"models":{"m":{"name":"m"}}}}}`)
		return w.carrel(slices.Concat([]string{"opencode", "--"}, headlessArgv(w.t, "opencode"))...), m
	}
	bash := func(command string) fakemodel.Turn {
		return fakemodel.Turn{Tool: "bash", Input: map[string]any{"command": command, "description": "work"}}
	}
	r, m := run([]fakemodel.Turn{
		{Tool: "write", Input: map[string]any{"filePath": w.project + "/work.txt", "content": "written by nobody\n"}},
		{Tool: "edit", Input: map[string]any{"filePath": w.project + "/work.txt", "oldString": "nobody", "newString": "the agent"}},
		bash(theDay),
		bash(theNight("opencode")),
		bash(`echo "fetch off: $OPENCODE_DISABLE_MODELS_FETCH"; echo '{"plugin":["evil"]}' > ~/.config/opencode/opencode.json; mkdir -p ~/.config/opencode/command; echo evil > ~/.config/opencode/command/x.md; echo evil > ~/.config/opencode/AGENTS.md; sed -i s/old-token/new-token/ ~/.local/share/opencode/auth.json; echo kept > ~/.local/share/opencode/notebook`),
		{Text: "done"},
	})
	host := w.read(config)
	w.checkDay("opencode", r, m)
	if keys := m.Keys(); !slices.Equal(keys, []string{"key-for-the-model"}) {
		t.Errorf("keys: %q", keys)
	}
	if all := strings.Join(m.Results(), "\n"); !strings.Contains(all, "fetch off: 1") {
		t.Errorf("the variable that keeps it from asking the network: %s", all)
	}
	if strings.Contains(host, "evil") {
		t.Errorf("the configuration on the host: %s", host)
	}
	if got := w.outsideSh("cd ~ && find .config/opencode .local/share .local/state/opencode .cache -type f 2>/dev/null | sort; true"); got != ".config/opencode/opencode.json\n.local/share/opencode/auth.json\n" {
		t.Errorf("OpenCode's files on the host: %s", got)
	}
	if got := w.read(login); !strings.Contains(got, `"new-token"`) {
		t.Errorf("the login on the host: %s", got)
	}
	if p.uid == 0 { // each run of it costs seconds of processor time
		return
	}
	r, m = run([]fakemodel.Turn{bash("cat ~/.local/share/opencode/notebook ~/.agents/skills/own/SKILL.md ~/.local/share/opencode/auth.json; ls ~/.local/share/opencode/opencode.db; cat ~/.config/opencode/AGENTS.md; ls ~/.config/opencode/command"), {Text: "done"}})
	if r.code != 0 || len(m.Results()) != 1 || !strings.HasPrefix(m.Results()[0], "kept\nthe person's own skill\n") || !strings.Contains(m.Results()[0], "new-token") || !strings.Contains(m.Results()[0], "opencode.db\n") || strings.Contains(m.Results()[0], "evil") {
		t.Errorf("the second run: %s %q", r, m.Results())
	}
}
