//go:build linux

package e2e

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/agents"
	"carrel/test/fakemodel"
)

func (w *world) config(text string) {
	w.t.Helper()
	w.write(w.home+"/.config/carrel/config.yaml", text)
}

// runs its words as a script: what an agent does in its home.
const obedient = `while [ $# -gt 1 ]; do shift; done; eval "$1"`

// TestAgentConfigDir: the directory is made, is the agent's place, keeps what is written
// there as it is, and has nothing to do with the host's.
func TestAgentConfigDir(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.litter = true
		w.config("agent_config_dir: ~/desks/{agent}\n")
		w.write(w.home+"/.claude/settings.json", `{"of":"the host"}`)
		w.write(w.home+"/.claude/.credentials.json", `{"claudeAiOauth":{"refreshToken":"host"}}`)
		w.agentScript("claude", obedient)
		w.agentScript("opencode", obedient)
		w.fine("claude", "--", `test ! -e ~/.claude/settings.json && test ! -e ~/.claude/.credentials.json && echo mine > ~/.claude/settings.json && echo login > ~/.claude/.credentials.json && mkdir -p ~/.claude/hooks && echo hook > ~/.claude/hooks/x.sh`)
		for _, name := range []string{"settings.json", ".credentials.json", "hooks/x.sh"} {
			if !exists(w.home + "/desks/claude/" + name) {
				t.Errorf("%s is not in the agent's directory", name)
			}
		}
		if st, err := os.Stat(w.home + "/desks/claude"); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", st, err)
		}
		if got := w.read(w.home + "/.claude/settings.json"); got != `{"of":"the host"}` {
			t.Errorf("the host's settings: %s", got)
		}
		if r := w.inProject(w.home+"/src/other", "claude", "--", `cat ~/.claude/settings.json ~/.claude/hooks/x.sh; ls -A ~/desks 2>/dev/null`); r.out != "mine\nhook\n" {
			t.Errorf("another project: %s", r)
		}
		w.fine("opencode", "--", `echo a > ~/.config/opencode/opencode.json; echo b > ~/.local/share/opencode/auth.json; test ! -e ~/.claude`)
		for _, name := range []string{".config/opencode/opencode.json", ".local/share/opencode/auth.json", ".local/state/opencode", ".cache/opencode"} {
			if !exists(w.home + "/desks/opencode/" + name) {
				t.Errorf("opencode: no %s in its directory", name)
			}
		}
		// A command that is no agent has none of it; one flag gives the usual places back.
		if r := w.run("--", "sh", "-c", "ls -A ~/desks ~/.claude 2>/dev/null"); r.out != "" {
			t.Errorf("a command that is none: %s", r)
		}
		if r := w.carrel("claude", "--agent-home", "private", "--", `cat ~/.claude/settings.json`); r.out != `{"of":"the host"}` {
			t.Errorf("--agent-home private: %s", r)
		}
	})
}

// TestAgentConfigDirRefused: a directory that is somebody's already is refused, in words
// that name the file, the line and what to do; a project's word does not count.
func TestAgentConfigDirRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true
	w.agentScript("claude", obedient)
	w.write(w.home+"/.ssh/id_ed25519", "key")
	w.write(w.home+"/.claude/settings.json", "{}")
	w.write(w.home+"/file", "x")
	w.mkdir(w.home+"/open/claude", 0o777)
	w.must(os.Chmod(w.home+"/open/claude", 0o777))
	w.symlink(w.home+"/.ssh", w.home+"/link")
	w.symlink(w.home+"/.ssh", w.project+"/link")
	w.mkdir(w.home+"/own/planted", 0o700)
	for _, row := range [][2]string{
		{"~/.ssh", "hidden"}, {"~/.ssh/{agent}", "hidden"}, {"~/link", "hidden"}, {"~/.claude", "hidden"}, {"~/.{agent}", "hidden"}, {"~/.local/share", "an agent outside"},
		{"~/.config", "carrel"}, {"~/.local/state/carrel/x", "carrel"}, {w.project + "/{agent}", "project"}, {w.home + "/src", "project"}, {w.project + "/link", "link"},
		{"~/file", "no directory"}, {"~/open/{agent}", "others may write"}, {"/etc/agents", ""}, {"/usr", ""}, {"relative", "neither an absolute path"},
		{"~/{user}", "brace"}, {"~", "directory of its own"}, {"~/a/../.ssh", ".."},
	} {
		w.config("# of mine\nagent_config_dir: '" + row[0] + "'\n")
		r := w.carrel("claude", "--", "echo started")
		if r.code != 125 || r.out != "" || !strings.Contains(r.err, row[1]) || !strings.Contains(r.err, "config.yaml:2") {
			t.Errorf("%s: %s", row[0], r)
		}
	}
	w.config("agent_config_dir: ~/own/{agent}\n")
	if r := w.carrel("claude", "--", "echo started"); r.out != "started\n" { // the canary
		t.Errorf("a good one: %s", r)
	}
	// What a command leaves in it must not send the next one elsewhere.
	w.agentScript("opencode", obedient)
	w.symlink(w.home+"/.ssh", w.home+"/own/opencode/.config")
	if r := w.carrel("opencode", "--", "echo started"); r.code != 125 || r.out != "" {
		t.Errorf("a link in it: %s", r)
	}
	w.config("{}\n")
	w.write(w.project+"/.carrel.yaml", "network: local\nagent_config_dir: ~/theirs\nagent_home: shared\n")
	r := w.carrel("claude", "--", "echo started; echo x > ~/.claude/projects")
	if r.out != "started\n" || !strings.Contains(r.err, ".carrel.yaml:2") || !strings.Contains(r.err, ".carrel.yaml:3") || !strings.Contains(r.err, "agent_home") || exists(w.home+"/theirs") || exists(w.home+"/.claude/projects") {
		t.Errorf("the project's word: %s", r)
	}
}

// plants are what would make an agent outside run code, by agent.
var plants = map[string][]string{
	"claude": {".claude/settings.json", ".claude/settings.local.json", ".claude/hooks/new.sh", ".claude/status.sh", ".claude/commands/x.md", ".claude/skills/x/SKILL.md", ".claude/agents/x.md",
		".claude/plugins/x", ".claude/.claude.json", ".claude.json", ".claude/local/claude", ".claude/shell-snapshots/x.sh", ".claude/session-env/x.sh"},
	"codex":    {".codex/config.toml", ".codex/x.config.toml", ".codex/hooks.json", ".codex/hooks/x", ".codex/prompts/x.md", ".codex/rules/x", ".codex/AGENTS.md", ".codex/packages/x"},
	"gemini":   {".gemini/settings.json", ".gemini/hooks/x", ".gemini/extensions/x/x", ".gemini/.env", ".gemini/tmp/bin/rg", ".gemini/history/x/.git/config", ".gemini/trustedFolders.json"},
	"opencode": {".config/opencode/opencode.json", ".config/opencode/plugin/x.js", ".local/share/opencode/bin/rg", ".local/share/opencode/opencode.db", ".cache/opencode/node_modules/x"},
	"pi":       {".pi/agent/settings.json", ".pi/agent/extensions/x.ts", ".pi/agent/mcp.json"},
}

// TestSharedHome: transcripts, history and logins made inside are the host's at once;
// what would make an agent outside run code is not, whether it was there or not and
// however it is saved.
func TestSharedHome(t *testing.T) {
	t.Parallel()
	for name, files := range plants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.litter = true
			a, _ := agents.ByName(name)
			for _, dir := range a.State {
				w.mkdir(w.home+"/"+dir, 0o700)
			}
			here := w.write(w.home+"/"+files[0], "of the host")
			w.agentScript(name, obedient)
			script := "cd ~; "
			for _, f := range files {
				script += "mkdir -p " + filepath.Dir(f) + "; echo planted > " + f + ".tmp && mv -f " + f + ".tmp " + f + "; echo planted > " + f + "; "
			}
			for _, s := range a.Shared {
				place := s.Place
				if !s.File {
					place += "/of/this.jsonl"
				}
				script += "mkdir -p $(dirname " + place + "); echo transcript >> " + place + "; grep -qs transcript " + place + " || echo lost; "
			}
			script += "ln -s ~/.bashrc " + a.Shared[0].Place + "/link; ln -s of " + a.Shared[0].Place + "/within; "
			for _, s := range a.Shared {
				for _, left := range s.Except { // of the host another thing than inside
					w.write(w.home+"/"+s.Place+"/"+left+"/there", "of the host")
					script += "echo planted > " + s.Place + "/" + left + "/there; ln -s ../" + left + "/there " + s.Place + "/of/x; ln -s " + left + " " + s.Place + "/y; "
				}
			}
			script += "true"
			// The canary: without walls all of it is written.
			r := w.carrel(name, "--agent-home", "shared", "--", script)
			if r.code != 0 || strings.Contains(r.out, "lost") {
				t.Fatalf("inside: %s", r)
			}
			for _, f := range files {
				if data, err := os.ReadFile(w.home + "/" + f); err == nil && (f != files[0] || string(data) != "of the host") {
					t.Errorf("%s on the host: %q", f, data)
				}
			}
			for _, s := range a.Shared {
				place := w.home + "/" + s.Place
				if !s.File {
					place += "/of/this.jsonl"
				}
				if !exists(place) || !strings.Contains(w.read(place), "transcript") {
					t.Errorf("%s did not come to the host", place)
				}
			}
			within := true
			for _, s := range a.Shared {
				for _, left := range s.Except {
					within = false // no link stays there
					at := w.home + "/" + s.Place
					if w.read(at+"/"+left+"/there") != "of the host" || exists(at+"/of/x") || exists(at+"/y") {
						t.Errorf("a way to %s/%s: %s", s.Place, left, r)
					}
				}
			}
			if first := w.home + "/" + a.Shared[0].Place; exists(first+"/link") || exists(first+"/within") != within || !strings.Contains(r.err, "removed a link") {
				t.Errorf("links: %s", r)
			}
			if r := w.inProject(w.home+"/src/other", name, "--agent-home", "shared", "--", "cat ~/"+a.Shared[0].Place+"/of/this.jsonl"); r.out != "transcript\n" {
				t.Errorf("another project: %s", r)
			}
			if r := w.carrel(name, "--", "ls ~/"+a.Shared[0].Place+"/of"); r.out != "" {
				t.Errorf("private, it is seen: %s", r)
			}
			w.outsideSh(strings.ReplaceAll(script, "link; ln", "link2; ln"))
			if w.read(here) != "planted\n" {
				t.Error("the canary wrote nothing")
			}
		})
	}
}

// TestSharedHomeOfDotFiles: the agent's directory may be the user's link into a directory
// of dot files; one out of home is refused, with what can be done.
func TestSharedHomeOfDotFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true
	w.agentScript("claude", obedient)
	w.write(w.home+"/dot/claude/settings.json", "of the host")
	w.symlink(w.home+"/dot/claude", w.home+"/.claude")
	script := "cat ~/.claude/settings.json; echo planted > ~/.claude/settings.json; echo said > ~/.claude/projects/x; ln -s ~/.bashrc ~/.claude/projects/link"
	r := w.carrel("claude", "--agent-home", "shared", "--", script)
	if r.code != 0 || r.out != "of the host" || w.read(w.home+"/dot/claude/projects/x") != "said\n" || w.read(w.home+"/dot/claude/settings.json") != "of the host" || exists(w.home+"/dot/claude/projects/link") {
		t.Errorf("%s", r)
	}
	// Who works in the directory of dot files does not choose what the next one shares.
	w.must(os.Remove(w.home + "/.claude"))
	w.must(os.Mkdir(w.home+"/.claude", 0o700))
	w.symlink(w.home+"/dot/claude/projects", w.home+"/.claude/projects")
	w.write(w.home+"/.ssh/id", "SECRET\n")
	steal := func() result {
		return w.carrel("claude", "--agent-home", "shared", "--", "cat ~/.claude/projects/id; cat ~/.claude/projects/x")
	}
	if r := steal(); r.code != 0 || r.out != "said\n" {
		t.Errorf("canary: %s", r)
	}
	dots := w.command(w.bin, "run", "--", "sh", "-c", "mv claude/projects claude/old; ln -s ../../.ssh claude/projects")
	dots.Dir = w.home + "/dot"
	if out, err := dots.CombinedOutput(); err != nil || !exists(w.home+"/dot/claude/old/x") {
		t.Fatalf("%v: %s", err, out)
	}
	if r := steal(); r.code != 125 || strings.Contains(r.out, "SECRET") || !strings.Contains(r.err, "reached by a link") {
		t.Errorf("by a link behind a link: %s", r)
	}
	w.must(os.RemoveAll(w.home + "/.claude"))
	w.symlink("/usr/share", w.home+"/.claude")
	if r := w.carrel("claude", "--agent-home", "shared", "--", "echo started"); r.code != 125 || r.out != "" || !strings.Contains(r.err, "hint: --agent-home private") {
		t.Errorf("out of home: %s", r)
	}
}

// TestLinksInAgentsPlaces: what a command has put into a skill, which may be a project as
// any other, brings no key into the next copy.
func TestLinksInAgentsPlaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true
	w.agentScript("claude", obedient)
	w.write(w.home+"/.ssh/id", "SECRET\n")
	w.write(w.home+"/notes", "n\n")
	w.write(w.home+"/.claude/skills/foo/SKILL.md", "s\n")
	w.write(w.home+"/.claude/skills/kept/SKILL.md", "k\n")
	w.outsideSh("git init -q " + w.home + "/.claude/skills/kept")
	for dir, script := range map[string]string{"foo": "ln -s ../../../.ssh/id key; ln -s ../../../.ssh all", "kept": "ln -s ../../../notes notes; ln -s SKILL.md same"} {
		links := w.command(w.bin, "run", "--", "sh", "-c", script)
		links.Dir = w.home + "/.claude/skills/" + dir
		if out, err := links.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	r := w.carrel("claude", "--", "cd ~/.claude/skills; cat foo/SKILL.md kept/SKILL.md kept/same; cat foo/key foo/all/id kept/notes")
	if r.out != "s\nk\nk\n" || !strings.Contains(r.err, "nothing inside may read") || !strings.Contains(r.err, "leads out of the repository") {
		t.Errorf("%s", r)
	}
}

// TestSharedHomeUnderACeiling: a ceiling forbids it, and the directory that would stand
// for it; what is not asked for is private.
func TestSharedHomeUnderACeiling(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true
	w.agentScript("claude", obedient)
	ceiling := w.write(w.home+"/ceiling.yaml", "agent_home: private\n")
	for _, row := range []struct {
		config string
		args   []string
	}{
		{"{}", []string{"claude", "--permissions", ceiling, "--agent-home", "shared", "--"}},
		{"agent_home: shared", []string{"claude", "--permissions", ceiling, "--"}},
		{"agent_config_dir: ~/x/{agent}", []string{"claude", "--permissions", ceiling, "--"}},
	} {
		w.config(row.config + "\n")
		if r := w.carrel(append(row.args, "echo started")...); r.code != 125 || r.out != "" || !strings.Contains(r.err, "agent_home") || !strings.Contains(r.err, "ceiling.yaml:1") {
			t.Errorf("%s %q: %s", row.config, row.args, r)
		}
	}
	w.config("agent_home: shared\n")
	if r := w.carrel("claude", "--", "echo x > ~/.claude/projects/x"); r.code != 0 || !exists(w.home+"/.claude/projects/x") { // the canary
		t.Errorf("without a ceiling: %s", r)
	}
	w.agentScript("crush", obedient)
	w.mkdir(w.home+"/.config/crush", 0o700)
	if r := w.carrel("crush", "--", "echo started"); r.out != "started\n" || !strings.Contains(r.err, "private copy") {
		t.Errorf("an agent whose places are not known: %s", r)
	}
	if r := w.carrel("crush", "--agent-home", "shared", "--", "echo started"); r.code != 125 || r.out != "" || !strings.Contains(r.err, "--agent-home private") {
		t.Errorf("asked for by name: %s", r)
	}
}

// TestEachAgentsPlaces: every known agent finds its directories, settings and login where
// it looks for them, and nothing of any other agent's.
func TestEachAgentsPlaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true // one is another's directory
	all := agents.Known()
	secret := func(a *agents.Agent, place string) string {
		return `{"claudeAiOauth":{"accessToken":"SECRET of ` + a.Name + ` in ` + place + `;"}}`
	}
	for i := range all {
		a := &all[i]
		for _, place := range a.Credentials {
			if !strings.Contains(w.outsideSh("cat ~/'"+place+"' 2>/dev/null; true"), "SECRET") { // some are two agents'
				w.write(w.home+"/"+place, secret(a, place))
			}
		}
		for _, dir := range a.State {
			w.write(w.home+"/"+dir+"/diary", "SECRET diary of "+a.Name+";")
		}
		w.agentScript(a.Executables[0], obedient)
	}
	look := `grep -rho 'SECRET[^;]*;' ~/.[a-z]* 2>/dev/null; true`
	if out := w.outsideSh(look); strings.Count(out, "diary of") < len(all) { // the canary
		t.Fatalf("without walls: %s", out)
	}
	for i := range all {
		a := &all[i]
		script := ""
		for _, dir := range a.State {
			script += "echo written > ~/" + dir + "/mine && "
		}
		r := w.finish(w.command(w.bin, "run", "--", a.Executables[0], script+look))
		if r.code != 0 {
			t.Errorf("%s: %s", a.Name, r)
		}
		for _, line := range strings.Split(strings.TrimSpace(r.out), "\n") {
			if line != "" && !strings.HasPrefix(line, "SECRET of "+a.Name+" ") {
				t.Errorf("%s sees %q", a.Name, line)
			}
		}
		if !strings.Contains(r.out, "SECRET of "+a.Name+" in ") {
			t.Errorf("%s has no login: %s", a.Name, r)
		}
		kept := w.outsideSh("ls -d ~/.local/state/carrel/projects/*/agents/" + a.Name)
		for _, dir := range a.State {
			if exists(w.home + "/" + dir + "/mine") {
				t.Errorf("%s wrote to ~/%s on the host", a.Name, dir)
			}
			if !exists(strings.TrimSpace(kept) + "/" + dir + "/mine") {
				t.Errorf("%s does not keep ~/%s", a.Name, dir)
			}
		}
	}
}

// TestClaudeCodeShared: the real program, started by hand in a shared home, leaves its
// transcript where the host's finds it, and none of the rest; outside it goes on with it.
func TestClaudeCodeShared(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true
	w.installAgents()
	w.write(w.home+"/.claude.json", `{"hasCompletedOnboarding":true,"userID":"u1"}`)
	model := func(text string) *fakemodel.Server {
		m := w.model([]fakemodel.Turn{{Text: text}})
		w.setenv("ANTHROPIC_BASE_URL", m.URL)
		return m
	}
	w.setenv("ANTHROPIC_API_KEY", "key-for-the-model")
	w.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
	w.setenv("DISABLE_TELEMETRY", "1")
	model("said inside")
	if r := w.carrel("claude", "--agent-home", "shared", "--", "-p", "remember the word heron"); r.code != 0 || !strings.Contains(r.out, "said inside") {
		t.Fatalf("inside: %s", r)
	}
	if got := w.outsideSh("cat ~/.claude/projects/*/*.jsonl"); !strings.Contains(got, "heron") || !strings.Contains(got, "said inside") {
		t.Errorf("the transcript on the host: %.500s", got)
	}
	if got := w.outsideSh("cd ~/.claude && find . -mindepth 1 -maxdepth 1 | sort | tr '\\n' ' '"); got != "./history.jsonl ./plans ./projects ./tasks ./todos " {
		t.Errorf("in ~/.claude on the host: %s", got)
	}
	m := model("said outside")
	if r := w.plain(w.home+"/.npm-global/bin/claude", "-p", "--continue", "what was the word?"); r.code != 0 || !strings.Contains(r.out, "said outside") || !m.Heard("heron") {
		t.Errorf("going on outside: %s", r)
	}
}

// TestCodexOwnDirectory: the real program works in a directory of its own, with the
// settings that are there and none of the host's.
func TestCodexOwnDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true
	w.installAgents()
	w.repository()
	w.config("agent_config_dir: ~/desks/{agent}\n")
	m := w.model([]fakemodel.Turn{{Tool: "exec_command", Input: map[string]any{"cmd": "echo written > work.txt; echo home is $CODEX_HOME"}}, {Text: "done"}})
	w.write(w.home+"/.codex/config.toml", "model = [\"broken\"\n")
	w.write(w.home+"/desks/codex/config.toml", "model = \"m\"\nmodel_provider = \"local\"\n[model_providers.local]\nname = \"local\"\nbase_url = \""+m.URL+"/v1\"\nwire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\n")
	w.setenv("OPENAI_API_KEY", "key-for-the-model")
	at, err := url.Parse(m.URL)
	w.must(err)
	r := w.carrel("codex", "--no-prompts", "--host-port", at.Port(), "--", "exec", "--skip-git-repo-check", "--", "do it")
	if r.code != 0 || !m.Finished() || !exists(w.project+"/work.txt") {
		t.Fatalf("%s\nresults: %q", r, m.Results())
	}
	if all := strings.Join(m.Results(), " "); !strings.Contains(all, "home is "+w.home+"/.codex") {
		t.Errorf("results: %q", all)
	}
	if got := w.outsideSh("ls ~/desks/codex ~/.codex; find ~/desks/codex/sessions -name '*.jsonl' | wc -l"); !strings.Contains(got, "\n1\n") {
		t.Errorf("the directories: %s", got)
	}
}

// TestAgentHomesOfOtherEngines: what an engine cannot hold it refuses, and the rest is
// the same with each.
func TestAgentHomesOfOtherEngines(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true
	w.need("bwrap")
	w.agentScript("claude", obedient)
	w.write(w.home+"/.claude/settings.json", "of the host")
	shared := `mkdir -p ~/.claude/projects/x && echo here > ~/.claude/projects/x/y && echo planted > ~/.claude/settings.json`
	r := w.carrel("claude", "--engine", "bubblewrap", "--network", "closed", "--history", "off", "--agent-home", "shared", "--", shared)
	if r.code != 0 || !exists(w.home+"/.claude/projects/x/y") || w.read(w.home+"/.claude/settings.json") != "of the host" {
		t.Errorf("bubblewrap, shared: %s", r)
	}
	r = w.carrel("claude", "--engine", "landlock", "--network", "closed", "--history", "off", "--agent-home", "shared", "--", "echo started")
	if r.code != 125 || r.out != "" || !strings.Contains(r.err, "landlock") {
		t.Errorf("landlock, shared: %s", r)
	}
	w.config("agent_config_dir: ~/desks/{agent}\n")
	for _, engine := range []string{"bubblewrap", "landlock"} {
		r := w.carrel("claude", "--engine", engine, "--network", "closed", "--history", "off", "--", "cat ~/.claude/settings.json 2>/dev/null; echo "+engine+" > ~/.claude/settings.json")
		if r.code != 0 || strings.Contains(r.out, "host") || w.read(w.home+"/desks/claude/settings.json") != engine+"\n" {
			t.Errorf("%s, a directory of its own: %s", engine, r)
		}
	}
}
