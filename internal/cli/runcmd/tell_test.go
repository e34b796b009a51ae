package runcmd

import (
	"fmt"
	"strings"
	"testing"

	"carrel/internal/agents"
	"carrel/internal/api"
	"carrel/internal/cli/clitest"
	"carrel/internal/cli/cmdenv"

	"github.com/spf13/cobra"
)

// TestTellSteps: the last line says how all of it is taken back, before it stands what cannot
// be, and long lists are cut and counted.
func TestTellSteps(t *testing.T) {
	var lost []api.NotKept
	var edited []string
	for i := range maxListed + 3 {
		lost, edited = append(lost, api.NotKept{Path: fmt.Sprintf("big\x1b%d", i), Why: "too large"}), append(edited, fmt.Sprintf("mine%d", i))
	}
	for _, c := range []struct {
		name  string
		steps []api.Step
		last  string
		lines int
	}{
		{"none", nil, "", 0},
		{"the newest", []api.Step{{Step: 4, Added: 1, Newest: true}}, "carrel: step 4: 1 added; `carrel undo` takes it back\n", 1},
		{"an older one", []api.Step{{Step: 4, Removed: 2}}, "carrel: step 4: 2 removed; `carrel undo --step 4` takes it back\n", 1},
		{"several", []api.Step{{Step: 4, Added: 1}, {Step: 6, Added: 2, Newest: true}},
			"carrel: 2 steps, 4 to 6: 3 added; `carrel history` lists them\n", 1},
		{"much", []api.Step{{Step: 4, Added: 1, NotKept: lost, Edited: edited, Newest: true}}, "takes it back\n", 2*(maxListed+1) + 1},
	} {
		var out strings.Builder
		tellSteps(&cmdenv.Env{Err: &out}, c.steps)
		text := out.String()
		if !strings.HasSuffix(text, c.last) || strings.Count(text, "\n") != c.lines || strings.Contains(text, "\x1b") {
			t.Errorf("%s:\n%s", c.name, text)
		}
		for _, cut := range []string{"NOT kept: 3 more; `carrel show 4`", "step 4: 3 more of the kind"} {
			if c.name == "much" && !strings.Contains(text, cut) {
				t.Errorf("%s: no %q in\n%s", c.name, cut, text)
			}
		}
	}
}

// TestTellListed: a name that can run code is told once, with what is worst of it, and no
// byte of it acts on the terminal.
func TestTellListed(t *testing.T) {
	r := &api.Result{Born: []string{".git/hooks/pre-commit\x1b[2J"}, Listed: []string{"Makefile", ".git/hooks/pre-commit\x1b[2J"}}
	for i := range maxListed + 1 {
		r.Listed = append(r.Listed, fmt.Sprintf("node_modules/%d", i))
	}
	var out strings.Builder
	tellListed(&cmdenv.Env{Err: &out}, r, []string{"Makefile2", ".git/hooks/pre-commit\x1b[2J"})
	text := out.String()
	const born = "WARNING: .git/hooks/pre-commit\\x1b[2J was created or replaced inside"
	if strings.Count(text, "pre-commit") != 1 || !strings.Contains(text, born) ||
		strings.Count(text, "made or changed inside: ") != maxListed+1 || !strings.Contains(text, "inside: 2 more of the kind") ||
		!strings.Contains(text, "carrel: look at Makefile2: ") || strings.Contains(text, "\x1b") {
		t.Errorf("%s", text)
	}
}

// TestForgottenDashes: a flag of ours that goes to the agent is warned of, and no other word
// is.
func TestForgottenDashes(t *testing.T) {
	agent := agents.Agent{Title: "The agent"}
	for line, warned := range map[string]bool{
		"--network=open": true, "--read x": true, "--network open -- x": false, "--verbose": false, "x --network open": false, "-p x": false,
		"": false,
	} {
		var out strings.Builder
		env := &cmdenv.Env{Err: &out}
		cmd := AgentCommand(env, agent, "claude")
		warnOfForgottenDashes(env, cmd, agent, "claude", strings.Fields(line))
		if (out.Len() > 0) != warned || warned && !strings.Contains(out.String(), "goes to The agent; carrel's own flags stand before a --") {
			t.Errorf("%q: %q", line, out.String())
		}
	}
}

// TestAgentRefusals: what stands before "--" has to be flags of ours, and the way to hand all
// of it to the agent is told.
func TestAgentRefusals(t *testing.T) {
	p := clitest.New(t, []cmdenv.Command{{Name: "claude", Make: func(env *cmdenv.Env) *cobra.Command {
		return AgentCommand(env, agents.Agent{Name: "claude", Title: "The agent", Executables: []string{"claude"}}, "claude")
	}}})
	p.Refusals(map[string]string{
		"claude --odd -- x":            "if all of it is meant for The agent: carrel claude -- --odd -- x",
		"claude --network open x -- y": `"x" is no flag of carrel, and stands before --`,
	})
	p.Run("claude --help").OK("Starts The agent behind walls", "carrel claude -- --help")
}
