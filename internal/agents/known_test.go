package agents

import (
	"path"
	"slices"
	"strings"
	"testing"

	"carrel/internal/policy"
)

func TestKnownIsWellFormed(t *testing.T) {
	commands, packages := map[string]string{}, map[string]string{}
	for _, a := range Known() {
		if a.Name == "" || a.Title == "" || len(a.Executables) == 0 || len(a.State) == 0 || len(a.Credentials) == 0 || len(a.Hosts) == 0 {
			t.Errorf("%q is incomplete", a.Name)
		}
		for _, name := range a.Executables {
			if other, taken := commands[name]; taken {
				t.Errorf("command %q belongs to %q and %q", name, other, a.Name)
			}
			commands[name] = a.Name
		}
		for _, name := range a.Packages {
			if other, taken := packages[name]; taken {
				t.Errorf("package %q belongs to %q and %q", name, other, a.Name)
			}
			packages[name] = a.Name
		}
		if other, found := ByCommand(a.Name); !found || other.Name != a.Name {
			t.Errorf("the name of %q is a program of %q", a.Name, other.Name)
		}
		if words := strings.Fields(a.Install); len(words) > 0 && !slices.Contains(a.Packages, words[len(words)-1]) {
			t.Errorf("%q: %q installs none of its packages", a.Name, a.Install)
		}
		for _, place := range slices.Concat(a.State, a.Config, a.Seed, a.Credentials, a.Programs) {
			if path.IsAbs(place) || path.Clean(place) != place || strings.HasPrefix(place, "..") || place == "." {
				t.Errorf("%q: place %q is not relative to home", a.Name, place)
			}
			if isPattern(path.Dir(place)) {
				t.Errorf("%q: place %q has a pattern before its last component", a.Name, place)
			}
		}
		for _, dir := range a.State {
			if slices.Contains(a.Config, dir) || slices.Contains(a.Credentials, dir) {
				t.Errorf("%q: %q is state and something else", a.Name, dir)
			}
		}
		for _, file := range a.MergeBack {
			if (len(file.Keys) == 0) == (file.Kinds == nil) || !a.inState(file.Inside()) || !coveredBy(file.File, a.Credentials) || slices.Contains(a.Seed, file.File) {
				t.Errorf("%q: login %q is not covered", a.Name, file.File)
			}
		}
		for _, file := range slices.Concat(a.Seed, a.Credentials) {
			if coveredBy(file, a.Config) && !slices.Contains(a.Config, file) {
				t.Errorf("%q: %q lies in a config directory, which is mirrored exactly", a.Name, file)
			}
		}
		for _, part := range a.JSON {
			if !a.inState(part.Private) {
				t.Errorf("%q: %q is not in the private copy", a.Name, part.Private)
			}
		}
		for _, name := range a.EnvPass {
			if strings.ContainsAny(name, "=* ") || name == "PATH" || name == "HOME" {
				t.Errorf("%q passes %q", a.Name, name)
			}
		}
	}
}

func coveredBy(place string, places []string) bool {
	return slices.ContainsFunc(places, func(p string) bool { return below(place, p) })
}

func TestCommonAgentsAreKnown(t *testing.T) {
	for _, name := range []string{"claude", "codex", "gemini", "opencode", "pi", "aider", "goose", "amp", "copilot", "cursor-agent", "qwen-code"} {
		if _, ok := ByName(name); !ok {
			t.Errorf("%q is not known", name)
		}
	}
	if _, ok := ByName("nobody"); ok {
		t.Error("an agent nobody knows is known")
	}
}

func TestOtherCredentials(t *testing.T) {
	others := OtherCredentials("claude")
	if slices.Contains(others, ".claude/.credentials.json") || !slices.Contains(others, ".codex/auth.json") {
		t.Errorf("for claude: %q", others)
	}
	if !slices.Contains(OtherCredentials(""), ".claude/.credentials.json") {
		t.Error("for nobody: the login of claude is missing")
	}
	if !slices.IsSorted(others) {
		t.Error("not sorted")
	}
}

// TestPlacesOfTheTriedAgents: what the tried versions keep logins in is secret
// to others, and carried in where it can be used inside.
func TestPlacesOfTheTriedAgents(t *testing.T) {
	for _, tt := range []struct {
		agent, place string
		seeded       bool
	}{
		{"gemini", ".gemini/gemini-credentials.json", true},
		{"gemini", ".gemini/mcp-oauth-tokens.json", true},
		{"gemini", ".gemini/a2a-oauth-tokens.json", true},
		{"opencode", ".local/share/opencode/mcp-auth.json", true},
		{"opencode", ".local/share/opencode/opencode.db", false}, // sessions of all projects as well
	} {
		a, _ := ByName(tt.agent)
		if !slices.Contains(OtherCredentials("claude"), tt.place) {
			t.Errorf("%s: %q is no secret to claude", tt.agent, tt.place)
		}
		carried := slices.Contains(a.Seed, tt.place) || slices.ContainsFunc(a.MergeBack, func(m MergeFile) bool { return m.File == tt.place && m.Opaque })
		if carried != tt.seeded {
			t.Errorf("%s: %q is carried in: %v, want %v", tt.agent, tt.place, !tt.seeded, tt.seeded)
		}
	}
}

// Known hands out fresh data: a caller that changes its copy changes nothing.
func TestKnownIsFresh(t *testing.T) {
	Known()[0].Executables[0] = "changed"
	BuiltinPresets()[0].Command[0] = "changed"
	if Known()[0].Executables[0] == "changed" || BuiltinPresets()[0].Command[0] == "changed" {
		t.Error("shared with the caller")
	}
}

func TestBuiltinPresets(t *testing.T) {
	want := map[string]policy.Persona{
		"claude": policy.Agent, "codex": policy.Agent, "gemini": policy.Agent, "opencode": policy.Agent, "pi": policy.Agent,
		"shell": policy.Human,
	}
	got := map[string]policy.Persona{}
	for _, p := range BuiltinPresets() {
		got[p.Name] = p.Persona
		if (p.Agent != "") != (p.Persona == policy.Agent) {
			t.Errorf("%q: agent %q with persona %q", p.Name, p.Agent, p.Persona)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for name, persona := range want {
		if got[name] != persona {
			t.Errorf("%q has persona %q, want %q", name, got[name], persona)
		}
	}
	if _, ok := BuiltinPreset("shell"); !ok {
		t.Error("no preset shell")
	}
	if _, ok := BuiltinPreset("nobody"); ok {
		t.Error("a preset nobody made")
	}
}

func TestPlanState(t *testing.T) {
	a, _ := ByName("claude")
	plan := PlanState(a, "/home/u", "/home/u", "/state/claude")
	if plan.Env["CLAUDE_CONFIG_DIR"] != "/home/u/.claude" || plan.Env["DISABLE_AUTOUPDATER"] != "1" {
		t.Errorf("env %v", plan.Env)
	}
	first := StateBind{Source: "/state/claude/.claude", Target: "/home/u/.claude", Writable: true, Dir: true}
	if plan.Binds[0] != first {
		t.Errorf("first bind %+v", plan.Binds[0])
	}
	for _, b := range plan.Binds[1:] {
		if b.Writable || !b.Optional {
			t.Errorf("%+v: want read-only and optional", b)
		}
	}
	a, _ = ByName("aider")
	plan = PlanState(a, "/home/u", "/home/guest", "/p")
	want := StateBind{Source: "/p/.aider.conf.yml", Target: "/home/guest/.aider.conf.yml", Optional: true}
	if !slices.Contains(plan.Binds, want) {
		t.Errorf("no %+v in %+v", want, plan.Binds)
	}
}
