//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"carrel/internal/agents"
	"carrel/test/fakemodel"
)

// agentPrograms gives the directory that `make test` installs the real agent
// programs into.
func agentPrograms(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CARREL_TEST_NPM")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		dir = cache + "/carrel-test/npm"
	}
	for _, program := range []string{"claude", "codex", "gemini", "opencode", "pnpm", "node"} {
		if !exists(dir + "/node_modules/.bin/" + program) {
			t.Skipf("no %s below %s (CARREL_TEST_NPM); make test installs it", program, dir)
		}
	}
	return dir
}

// installAgents puts the programs where `npm install -g` with a prefix in home
// would have put them, with the packages that they need.
func (w *world) installAgents() {
	w.t.Helper()
	w.installPackages("@anthropic-ai", "@github", "@google", "@lydell", "@openai", "node/bin", "node-pty", "opencode-*", "pnpm")
}

// installPackages installs those of the packages, and links the agents' programs.
// Files are hard links where that is possible: all packages are 23,000.
func (w *world) installPackages(patterns ...string) {
	w.t.Helper()
	from := agentPrograms(w.t) + "/node_modules"
	to := w.home + "/.npm-global/lib/node_modules"
	w.mkdir(to, 0o755)
	w.mkdir(w.home+"/.npm-global/bin", 0o755)
	var packages []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(from + "/" + pattern)
		w.must(err)
		for _, p := range found {
			packages = append(packages, p[len(from)+1:])
		}
	}
	install := func(how ...string) ([]byte, error) {
		cmd := exec.Command("cp", slices.Concat(how, []string{"--parents", "-t", to, "--"}, packages)...)
		cmd.Dir = from
		return cmd.CombinedOutput()
	}
	if _, err := install("-al"); err != nil {
		if out, err := install("-a", "-n"); err != nil {
			w.t.Fatalf("installing agents: %s", out)
		}
	}
	w.symlink("../lib/node_modules/@anthropic-ai/claude-code/bin/claude.exe", w.home+"/.npm-global/bin/claude")
	w.symlink("../lib/node_modules/@openai/codex/bin/codex.js", w.home+"/.npm-global/bin/codex")
	w.symlink("../lib/node_modules/@google/gemini-cli/bundle/gemini.js", w.home+"/.npm-global/bin/gemini")
	w.symlink("../lib/node_modules/opencode-ai/bin/opencode.exe", w.home+"/.npm-global/bin/opencode")
	w.symlink("../lib/node_modules/pnpm/bin/pnpm.cjs", w.home+"/.npm-global/bin/pnpm")
	w.symlink("../lib/node_modules/node/bin/node", w.home+"/.npm-global/bin/node")
	w.setenv("PATH", w.home+"/.npm-global/bin:/usr/local/bin:/usr/bin:/bin")
}

// agentLogins are files with logins, by the agent whose they are.
var agentLogins = map[string]string{
	".claude/.credentials.json":       "claude",
	".codex/auth.json":                "codex",
	".gemini/oauth_creds.json":        "gemini",
	".local/share/opencode/auth.json": "opencode",
}

// workshop prepares a project with all that an agent's day needs, and secrets
// around it: keys, variables and the logins of the other agents.
func (w *world) workshop(own string) {
	w.t.Helper()
	w.need("git", "node", "npm", "make")
	w.repository()
	w.npmPackage(w.project + "/greeting.tgz")
	w.write(w.project+"/package.json", `{"name":"desk","version":"1.0.0"}`)
	w.write(w.project+"/.gitignore", "node_modules\nout.txt\n.env\n")
	w.write(w.project+"/Makefile", "out.txt: work.txt\n\tnode -p \"require('desk-greeting')()\" > out.txt\n\tcat work.txt >> out.txt\n")
	w.write(w.home+"/.ssh/id_ed25519", "SECRET key")
	w.write(w.home+"/.aws/credentials", "SECRET aws")
	w.write(w.project+"/.env", "TOKEN=SECRET")
	for file, agent := range agentLogins {
		if agent != own {
			w.write(w.home+"/"+file, `{"token":"SECRET `+agent+`"}`)
		}
	}
	w.setenv("GITHUB_TOKEN", "SECRET variable")
}

// theDay is what each agent does: build, commit, install, and then look for
// what it must not find and write where it must not write.
const theDay = `git add -A && git commit -qm 'by the agent' && npm install --offline --no-audit --no-fund ./greeting.tgz >/dev/null && make -s && cat out.txt && git log --format='%an: %s' -1`

func theNight(own string, more ...string) string {
	look := append(more, "~/.ssh/id_ed25519", "~/.aws/credentials", ".env")
	for file, agent := range agentLogins {
		if agent != own {
			look = append(look, "~/"+file)
		}
	}
	return "cat " + strings.Join(look, " ") + " 2>/dev/null; env | grep SECRET; echo id > .git/hooks/pre-commit; echo evil >> ~/.bashrc; echo searched"
}

// model plays a script for the time of the test.
func (w *world) model(turns []fakemodel.Turn) *fakemodel.Server {
	w.t.Helper()
	m, err := fakemodel.Start(turns)
	w.must(err)
	w.t.Cleanup(m.Close)
	return m
}

// headless is a prompt that reads like a flag, and what has an agent work on it.
const headless = "-x is what the person wants"

func headlessArgv(t *testing.T, name string, more ...string) []string {
	t.Helper()
	agent, ok := agents.ByName(name)
	if !ok {
		t.Fatalf("no agent %s", name)
	}
	argv, err := agent.HeadlessArgv(headless)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(more, argv[1:])
}

// byName starts an agent by its name, with its questions off, to work on the prompt.
func (w *world) byName(name string, more ...string) result {
	w.t.Helper()
	return w.carrel(slices.Concat([]string{name, "--no-prompts", "--"}, headlessArgv(w.t, name, more...))...)
}

// checkDay looks at the host after an agent's work.
func (w *world) checkDay(name string, r result, m *fakemodel.Server) {
	w.t.Helper()
	if r.code != 0 || !m.Finished() {
		w.t.Fatalf("the agent did not finish: %s\nresults: %q", r, m.Results())
	}
	if got := w.read(w.project + "/work.txt"); strings.TrimSpace(got) != "written by the agent" {
		w.t.Errorf("the edited file: %q", got)
	}
	if got := w.read(w.project + "/out.txt"); got != "greetings from yes\nwritten by the agent\n" {
		w.t.Errorf("the built file: %q", got)
	}
	if got := w.outsideSh("git log --format='%an: %s' -1; git status --porcelain --untracked-files=no"); !strings.HasPrefix(got, "Carla Desk: by the agent\n") {
		w.t.Errorf("the repository: %q", got)
	}
	all := strings.Join(m.Results(), "\n")
	if strings.Contains(all, "SECRET") || !strings.Contains(all, "searched") {
		w.t.Errorf("what the agent saw: %s", all)
	}
	if _, err := os.Lstat(w.project + "/.git/hooks/pre-commit"); err == nil {
		w.t.Error("a hook was planted")
	}
	if _, err := os.Lstat(w.home + "/.bashrc"); err == nil {
		w.t.Error(".bashrc was written")
	}
	if !m.Heard(headless) {
		w.t.Error("the prompt did not come to the model")
	}
	if out := w.fine("history"); !regexp.MustCompile(`(added|changed) +` + name + "[ :]").MatchString(out) {
		w.t.Errorf("the history does not name the agent's work: %s", out)
	}
	w.checkRecord()
}

// checkRecord looks whether the record names what the day changed, and not what
// the night was refused.
func (w *world) checkRecord() {
	w.t.Helper()
	record := w.outsideSh("cat ~/.local/state/carrel/projects/*/changes/*.log")
	for _, change := range []string{
		` "PROJECT/work.txt"`, `create "PROJECT/out.txt"`, `create "PROJECT/node_modules/desk-greeting/built"`,
		`rename "PROJECT/.git/refs/heads/main.lock" "PROJECT/.git/refs/heads/main"`,
	} {
		if !strings.Contains(record, strings.ReplaceAll(change, "PROJECT", w.project)+"\n") {
			w.t.Errorf("not in the record: %s\n%s", change, record)
		}
	}
	if strings.Contains(record, "pre-commit") || strings.Contains(record, ".bashrc") {
		w.t.Errorf("the record names what was refused: %s", record)
	}
}

func TestClaudeCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.installAgents()
	w.workshop("claude")
	settings := w.write(w.home+"/.claude/settings.json", `{"hooks":{},"theme":"dark","env":{"FROM_SETTINGS":"yes"}}`)
	hook := w.script(w.home+"/.claude/hooks/check.sh", "#!/bin/sh\ntrue\n")
	login := w.write(w.home+"/.claude/.credentials.json", `{"claudeAiOauth":{"accessToken":"old","refreshToken":"r","expiresAt":1},"other":"stays"}`)
	w.write(w.home+"/.claude.json", `{"hasCompletedOnboarding":true,"userID":"u1","projects":{"/private/project":{"history":["SECRET history"]}}}`)
	run := func(turns []fakemodel.Turn) (result, *fakemodel.Server) {
		m := w.model(turns)
		w.setenv("ANTHROPIC_BASE_URL", m.URL)
		w.setenv("ANTHROPIC_API_KEY", "key-for-the-model")
		w.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
		w.setenv("DISABLE_TELEMETRY", "1")
		r := w.byName("claude", "--output-format", "json")
		return r, m
	}
	bash := func(command string) fakemodel.Turn {
		return fakemodel.Turn{Tool: "Bash", Input: map[string]any{"command": command, "description": "work"}}
	}
	r, m := run([]fakemodel.Turn{
		{Tool: "Write", Input: map[string]any{"file_path": w.project + "/work.txt", "content": "written by nobody\n"}},
		{Tool: "Edit", Input: map[string]any{"file_path": w.project + "/work.txt", "old_string": "nobody", "new_string": "the agent"}},
		bash(theDay),
		bash(theNight("claude", "~/.claude.json")),
		bash(`echo '{"hooks":{"PreToolUse":[]}}' > ~/.claude/settings.json; echo evil > ~/.claude/hooks/check.sh; echo evil > ~/.claude/hooks/new.sh; mkdir -p ~/.claude/commands; echo evil > ~/.claude/commands/x.md; echo "settings: $FROM_SETTINGS"`),
		bash(`node -e 'const fs=require("fs"),p=process.env.HOME+"/.claude/.credentials.json",c=JSON.parse(fs.readFileSync(p)); c.claudeAiOauth.accessToken="new"; c.claudeAiOauth.expiresAt=2; c.evil="x"; fs.writeFileSync(p,JSON.stringify(c))'; echo kept > ~/.claude/notebook`),
		{Text: "done"},
	})
	w.checkDay("claude", r, m)
	if keys := m.Keys(); len(keys) != 1 || keys[0] != "key-for-the-model" {
		t.Errorf("keys: %q", keys)
	}
	if !strings.Contains(strings.Join(m.Results(), "\n"), "settings: yes") {
		t.Errorf("the person's settings are not in effect inside: %q", m.Results())
	}
	if got := w.read(settings); got != `{"hooks":{},"theme":"dark","env":{"FROM_SETTINGS":"yes"}}` {
		t.Errorf("settings on the host: %s", got)
	}
	if got := w.read(hook); got != "#!/bin/sh\ntrue\n" {
		t.Errorf("hook on the host: %s", got)
	}
	if got := w.outsideSh("cd ~/.claude && find . -type f | sort"); got != "./.credentials.json\n./hooks/check.sh\n./settings.json\n" {
		t.Errorf("files in ~/.claude on the host: %s", got)
	}
	if got := w.read(login); !strings.Contains(got, `"new"`) || !strings.Contains(got, "stays") || strings.Contains(got, "evil") {
		t.Errorf("the login on the host: %s", got)
	}
	// The second run finds the state of the first, and the host's settings again.
	r, m = run([]fakemodel.Turn{bash(`cat ~/.claude/notebook ~/.claude/settings.json ~/.claude/hooks/check.sh; ls ~/.claude/projects | wc -l; ls ~/.claude/hooks; cat ~/.claude/.credentials.json`), {Text: "done"}})
	if r.code != 0 || len(m.Results()) != 1 {
		t.Fatalf("the second run: %s %q", r, m.Results())
	}
	got := m.Results()[0]
	if !strings.HasPrefix(got, "kept\n{\"hooks\":{},") || !strings.Contains(got, "#!/bin/sh\ntrue\n1\ncheck.sh\n") || !strings.Contains(got, `"new"`) {
		t.Errorf("state in the second run: %s", got)
	}
}

// TestWordsOfAnAgent: words are bytes, and come as they are.
func TestWordsOfAnAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.script(w.home+"/bin/claude", "#!/bin/sh\nprintf '%s\\0' \"$@\" > words\n")
	w.setenv("PATH", w.home+"/bin:/usr/bin:/bin")
	w.fine("claude", "--no-prompts", "--", "\xff\xfe", "", "--", "a\nb", "--network", "open")
	settings, got, _ := strings.Cut(strings.TrimPrefix(w.read(w.project+"/words"), "--settings\x00"), "\x00")
	if !json.Valid([]byte(settings)) || !strings.Contains(settings, `"sandbox":{"enabled":false}`) {
		t.Errorf("settings: %q", settings)
	}
	if got != "--dangerously-skip-permissions\x00\xff\xfe\x00\x00--\x00a\nb\x00--network\x00open\x00" {
		t.Errorf("words: %q", got)
	}
}

// TestClaudeCodeOfRoot: Claude Code refuses to switch its questions off for root, if it
// is not told that it has walls around it; also where its own flag is given.
func TestClaudeCodeOfRoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0])
	w.installAgents()
	w.repository()
	w.setenv("ANTHROPIC_API_KEY", "key-for-the-model")
	w.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
	for i, words := range [][]string{{"--no-prompts", "--", "-p", "do it"}, {"-p", "do it", "--dangerously-skip-permissions"}} {
		file := w.project + "/work" + strconv.Itoa(i)
		m := w.model([]fakemodel.Turn{{Tool: "Bash", Input: map[string]any{"command": "touch " + file, "description": "work"}}, {Text: "done"}})
		w.setenv("ANTHROPIC_BASE_URL", m.URL)
		if r := w.carrel(append([]string{"claude"}, words...)...); r.code != 0 || !exists(file) {
			t.Errorf("%q: %s\nresults: %q", words, r, m.Results())
		}
	}
}

func TestCodex(t *testing.T) {
	asUser(t, testCodex)
}

func testCodex(t *testing.T, p person) {
	w := newWorld(t, p)
	w.installAgents()
	w.workshop("codex")
	login := w.write(w.home+"/.codex/auth.json", `{"OPENAI_API_KEY":null,"tokens":{"access_token":"old","refresh_token":"r"},"last_refresh":"2026-01-01T00:00:00Z"}`)
	run := func(turns []fakemodel.Turn) (result, *fakemodel.Server) {
		m := w.model(turns)
		w.write(w.home+"/.codex/config.toml", "model = \"m\"\nmodel_provider = \"local\"\n[model_providers.local]\nname = \"local\"\nbase_url = \""+m.URL+"/v1\"\nwire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\n")
		w.setenv("OPENAI_API_KEY", "key-for-the-model")
		r := w.byName("codex", "-c", "model_reasoning_summary=\"none\"")
		return r, m
	}
	shell := func(command string) fakemodel.Turn {
		return fakemodel.Turn{Tool: "exec_command", Input: map[string]any{"cmd": command}}
	}
	r, m := run([]fakemodel.Turn{
		shell("echo written by the agent > work.txt"),
		shell(theDay),
		shell(theNight("codex")),
		shell(`echo 'notify = ["evil"]' > ~/.codex/config.toml; sed -i s/old/new/ ~/.codex/auth.json; echo kept > ~/.codex/notebook; echo evil > ~/.codex/AGENTS.md`),
		{Text: "done"},
	})
	config := w.read(w.home + "/.codex/config.toml")
	w.checkDay("codex", r, m)
	if strings.Contains(config, "evil") || !strings.Contains(config, "model_providers.local") {
		t.Errorf("the configuration on the host: %s", config)
	}
	if got := w.outsideSh("cd ~/.codex && find . -type f | sort"); got != "./auth.json\n./config.toml\n" {
		t.Errorf("files in ~/.codex on the host: %s", got)
	}
	if got := w.read(login); !strings.Contains(got, `"new"`) {
		t.Errorf("the login on the host: %s", got)
	}
	r, m = run([]fakemodel.Turn{shell("cat ~/.codex/notebook; ls ~/.codex/sessions | wc -l; cat ~/.codex/AGENTS.md 2>/dev/null"), {Text: "done"}})
	if r.code != 0 || len(m.Results()) != 1 || !strings.Contains(m.Results()[0], "kept\n1\n") || strings.Contains(m.Results()[0], "evil") {
		t.Errorf("the second run: %s %q", r, m.Results())
	}
}

// TestAgentScreen: the interactive program starts in a terminal and quits.
func TestAgentScreen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.installAgents()
	m := w.model(nil)
	w.setenv("ANTHROPIC_BASE_URL", m.URL)
	w.setenv("ANTHROPIC_API_KEY", "key-for-the-model-0123456789")
	w.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
	w.write(w.home+"/.claude.json", `{"hasCompletedOnboarding":true,"theme":"dark","customApiKeyResponses":{"approved":["el-0123456789","key-for-the-model-0123456789"],"rejected":[]}}`)
	tm := w.openTerminal(w.command(w.bin, "claude"))
	tm.expect(`carrel claude --no-prompts --`)
	tm.expect(`(?i)trust|welcome|shortcuts|claude`)
	tm.resize(100, 30)
	for range 4 {
		tm.send("\x03")
		select {
		case <-tm.done:
		default:
		}
		waitABit()
	}
	if status := tm.wait(); status != 0 && status != 130 && status != 1 {
		t.Errorf("status %d: %q", status, cut(tm.all()))
	}
}
