package configcmd

import (
	"slices"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
)

type answer struct {
	Command    []string
	Preset     string
	Agent      *struct{ Name string }
	Dimensions []struct{ Dimension, Value, Where string }
	Paths      []struct{ Path, Access, Why string }
	Hosts      []struct {
		Host    string
		Allowed bool
	}
	Plan map[string]any
}

// value is that of a dimension, with who said so.
func (a *answer) value(name string) string {
	for _, d := range a.Dimensions {
		if d.Dimension == name {
			return d.Value + " by " + d.Where
		}
	}
	return ""
}

// TestExplainSources: of each value it is told who said so; the nearest to the command wins.
func TestExplainSources(t *testing.T) {
	p := clitest.New(t, Commands())
	before := p.Tree()
	var a answer
	if p.Run("explain --json -- true").OK().JSON(&a); !slices.Equal(a.Command, []string{"true"}) || a.Agent != nil || a.Plan != nil {
		t.Errorf("%+v", a)
	}
	if p.Tree() != before {
		t.Errorf("explain has written:\n%s", p.Tree())
	}
	for _, step := range []struct{ file, line, want string }{
		{"network: local\n", "", "local by " + p.Config + "/config.yaml:1"},
		{"", "--network closed", "closed by --network"},
	} {
		if step.file != "" {
			p.Write(".config/carrel/config.yaml", step.file)
		}
		var a answer
		if p.Run("explain --json " + step.line + " -- true").OK().JSON(&a); !strings.HasPrefix(a.value("network"), step.want) {
			t.Errorf("%+v: network is %s", step, a.value("network"))
		}
	}
	p.Run("explain --network closed -- true").OK("network", "closed", "--network")
}

// TestExplainQuestions: a path and a host are asked about, and nothing is looked up.
func TestExplainQuestions(t *testing.T) {
	p := clitest.New(t, Commands())
	key := p.Write(".ssh/id_ed25519", "secret")
	var a answer
	line := "explain --json --network filtered --allow-host a.example:443 --path ~/.ssh/id_ed25519 --path . " +
		"--host a.example:443 --host b.example:443 -- true"
	p.Run(line).OK().JSON(&a)
	if len(a.Paths) != 2 || a.Paths[0].Path != key || a.Paths[0].Access == "read" || a.Paths[0].Access == "write" ||
		a.Paths[1].Access != "write" {
		t.Errorf("%+v", a.Paths)
	}
	if len(a.Hosts) != 2 || !a.Hosts[0].Allowed || a.Hosts[1].Allowed {
		t.Errorf("%+v", a.Hosts)
	}
}

// TestExplainCommand: what is explained is a plain command, a shell, a preset or an agent.
func TestExplainCommand(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Write(".config/carrel/config.yaml", "presets:\n  demo:\n    command: [ls, -l]\n    persona: agent\n")
	for line, want := range map[string]string{
		"":                      "/bin/sh",
		"--shell":               "/bin/sh",
		"--preset demo":         "ls -l",
		"-- ls --plan":          "ls --plan",
		"--preset shell":        "/bin/sh",
		"--shell -- -c 'a b'":   "/bin/sh -c a b",
		"--network closed true": "true",
	} {
		var a answer
		p.Words(clitest.Split("explain --json " + line)...).OK().JSON(&a)
		if got := strings.Join(a.Command, " "); got != want {
			t.Errorf("%q explains %q, want %q", line, got, want)
		}
	}
	var run, shell answer
	p.Run("explain --json -- true").OK().JSON(&run)
	if p.Run("explain --json --shell").OK().JSON(&shell); !strings.HasPrefix(run.value("persona"), "agent") ||
		!strings.HasPrefix(shell.value("persona"), "human") {
		t.Errorf("the personas are %s and %s", run.value("persona"), shell.value("persona"))
	}
}

// TestExplainRefuses: what run would refuse is refused, as JSON too.
func TestExplainRefuses(t *testing.T) {
	p := clitest.New(t, Commands())
	ceiling := p.Write("ceiling.json", `{"network": {"mode": "disabled"}}`)
	for line, want := range map[string]string{
		"explain --network wide":                                 "wide",
		"explain --preset absent":                                "absent",
		"explain --network open --permissions " + ceiling:        "network",
		"--permissions " + ceiling + " explain --network open":   "network",
		"explain --permissions absent.json":                      "there is no ceiling file",
		"explain --memory lots":                                  "--memory",
		"explain --odd":                                          "--odd",
		"explain --permissions " + ceiling + " --allow-host a.b": "",
	} {
		before := p.Tree()
		p.Words(clitest.Split(line)...).Fails(api.ExitOurs, want)
		if p.Tree() != before {
			t.Errorf("%s: something was written", line)
		}
	}
	var refused struct {
		Error    string
		Refusals []struct{ Dimension, Requested, Allowed string }
	}
	p.Run("explain --json --network open --permissions "+ceiling+" -- true").Fails(api.ExitOurs, "network").JSON(&refused)
	if len(refused.Refusals) != 1 || refused.Refusals[0].Dimension != "network" || refused.Refusals[0].Requested != "open" ||
		refused.Refusals[0].Allowed != "closed" {
		t.Errorf("%+v", refused)
	}
}
