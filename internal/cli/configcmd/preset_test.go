package configcmd

import (
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
)

const ownPresets = `# mine
network: local # stays
presets:
  review:
    description: Code review
    persona: agent
    network: closed
    command: [claude, /review]
`

// TestPresetList: built-in presets come first, then those of the configuration with their file.
func TestPresetList(t *testing.T) {
	p := clitest.New(t, Commands())
	file := p.Write(".config/carrel/config.yaml", ownPresets)
	p.Run("preset list").OK("NAME", "claude", "built-in", "shell", "human", "(your shell)", "review", "agent", "user",
		"claude /review", "Code review\n")
	p.Run("preset show review").OK("name", "review", "command", "claude /review", "persona", "agent\n", "from", "user, "+file,
		"asks for", "network: closed").
		Lacks("asks for     description", "asks for     command", "asks for     persona", "(fixed)")
	p.Run("preset show claude").OK("persona", "agent (fixed)", "agent", "claude", "from", "built-in").Lacks("asks for", file)
	var list []struct {
		Name, Persona, Origin, Agent string
		PersonaFixed                 bool `json:"persona_fixed"`
		Command                      []string
		Values                       []struct{ Key, Value string }
	}
	p.Run("preset list --json").OK().JSON(&list)
	last := list[len(list)-1]
	if last.Name != "review" || last.PersonaFixed || last.Origin != "user" || strings.Join(last.Command, " ") != "claude /review" {
		t.Errorf("%+v", last)
	}
	if len(last.Values) != 1 || last.Values[0].Key != "network" || last.Values[0].Value != "closed" {
		t.Errorf("it asks for %+v", last.Values)
	}
	for _, b := range list[:len(list)-1] {
		if !b.PersonaFixed || b.Origin != "built-in" || len(b.Values) > 0 {
			t.Errorf("%+v", b)
		}
	}
	p.Run("preset show review --json").OK().JSON(&last)
}

// TestPresetEdit: what a person wrote beside a preset stays.
func TestPresetEdit(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Write(".config/carrel/config.yaml", ownPresets)
	p.Words("preset", "add", "demo", "--description", "A demo", "--network", "closed", "--", "./demo",
		"--fast").OK("preset demo is in " + p.Config)
	text := p.Read(".config/carrel/config.yaml")
	if !strings.HasPrefix(text, ownPresets) {
		t.Errorf("what was there is now:\n%s", text)
	}
	p.Run("preset show demo").OK("A demo", "./demo --fast", "human\n", "network: closed")
	p.Run("preset add demo -- ls").Fails(api.ExitOurs, "hint: --replace takes its place")
	if now := p.Read(".config/carrel/config.yaml"); now != text {
		t.Errorf("a refused preset has changed the file:\n%s", now)
	}
	p.Run("preset add demo --replace --persona agent -- ls").OK()
	p.Run("preset show demo").OK("command", "ls\n", "persona", "agent\n").Lacks("A demo", "network: closed")
	p.Run("preset remove demo").OK("preset demo is gone from " + p.Config)
	if now := p.Read(".config/carrel/config.yaml"); now != ownPresets {
		t.Errorf("after the removal:\n%s", now)
	}
	p.Run("preset show demo").Fails(api.ExitOurs, `no preset "demo"`, "hint: there are ", "review")
}

// TestPresetAddMakesTheFile: the first preset makes the file, and an environment without a
// place for it is refused.
func TestPresetAddMakesTheFile(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Run("preset add demo -- ls -l").OK("config.yaml")
	if text := p.Read(".config/carrel/config.yaml"); !strings.Contains(text, "demo") || !strings.Contains(text, "-l") {
		t.Errorf("%q", text)
	}
	p.Environ = []string{"HOME=relative", "XDG_CONFIG_HOME=relative"}
	p.Run("preset add other -- ls").Fails(api.ExitOurs)
	if strings.Contains(p.Tree(), "other") {
		t.Error("a file was written all the same")
	}
}

func TestPresetRefusals(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Write(".config/carrel/config.yaml", ownPresets)
	p.Refusals(map[string]string{
		"preset add -- ls":                   "no name given",
		"preset add":                         "no name given",
		"preset add x":                       `preset "x" has no command`,
		"preset add x --":                    `preset "x" has no command`,
		"preset add x ls y":                  "hint: carrel preset add x -- ls y",
		"preset add x y -- ls":               `one name stands before --, got 2: ["x" "y"]`,
		"preset add x --persona robot -- ls": `--persona "robot" is not one of human, agent`,
		"preset add claude -- ls":            "built-in",
		"preset add claude --replace -- ls":  "built-in",
		"preset add review -- ls":            "hint: --replace takes its place",
		"preset add 'a b' -- ls":             "is not a preset's name",
		"preset add x --json -- ls":          "--json belongs to one run",
		"preset add x --permissions c -- ls": "--permissions belongs to one run",
		"preset add x --network wide -- ls":  "wide",
		"preset remove codex":                "built in and cannot be removed",
		"preset remove nothing":              "no preset of that name",
		"preset remove":                      "the name of a preset of your own",
		"preset show":                        "the name of a preset",
		"preset show a b":                    "the name of a preset",
		"preset list extra":                  "extra",
		"preset show nothing":                `there is no preset "nothing"`,
	})
}
