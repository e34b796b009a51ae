package agentcmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/clients"
)

// used makes a place where claude was used, with settings that its owner wrote.
func used(t *testing.T) *clitest.Place {
	t.Helper()
	p := clitest.New(t, Commands())
	p.Write(".claude/settings.json", "{\n\t\"model\":   \"opus\"\n}\n")
	p.Write(".claude.json", "{\n  \"numStartups\": 3\n}\n")
	return p
}

// withoutState is a tree without what carrel itself keeps.
func withoutState(p *clitest.Place) string {
	var out strings.Builder
	for part := range strings.SplitAfterSeq(p.Tree(), "\n") {
		if !strings.HasPrefix(part, ".local/") {
			out.WriteString(part)
		}
	}
	return out.String()
}

// TestAgentRoundTrip: setup registers the server, hooks and skill and says which files it
// wrote; status tells of them; remove leaves the owner's files byte for byte.
func TestAgentRoundTrip(t *testing.T) {
	p := used(t)
	before := p.Tree()
	p.Run("agent status claude").OK("AGENT", "SCOPE", "claude", "user", "no", "no")
	p.Run("agent setup --dry-run claude").OK("+", "carrel").Lacks("wrote")
	p.Run("agent setup --dry-run --json claude").OK(`"agent": "claude"`, `"diff": "`)
	if p.Tree() != before {
		t.Fatalf("a dry run has written:\n%s", p.Tree())
	}
	p.Run("agent setup claude").OK("claude: wrote ")
	set := withoutState(p)
	if !strings.Contains(set, "\t\"model\":   \"opus\"") || !strings.Contains(set, "numStartups") || !strings.Contains(set, `"mcp"`) {
		t.Errorf("%s", set)
	}
	var list []struct {
		Agent, Scope, Registered, Blocked string
		Hooks, Skill                      bool
		Serving                           int
	}
	p.Run("agent status --json claude").OK().JSON(&list)
	if len(list) == 0 || list[0].Registered != "yes" || list[0].Blocked != "no" || !list[0].Hooks || !list[0].Skill || list[0].Serving != 0 {
		t.Errorf("%+v", list)
	}
	p.Run("agent setup claude").OK("claude: nothing to do")
	p.Run("agent setup claude --block-builtin").OK("claude: wrote ")
	p.Run("agent status claude").OK("always")
	p.Run("agent setup claude --block-builtin --while-serving").OK("claude: wrote ")
	p.Run("agent status claude").OK("while-serving")
	p.Run("agent remove --dry-run claude").OK("-").Lacks("taken out of", "removed")
	p.Run("agent remove claude").OK("claude: ", "taken out of ")
	if now := withoutState(p); now != before {
		t.Errorf("afterwards:\n%s\nbefore:\n%s", now, before)
	}
	p.Run("agent heal").OK("nothing to do")
	p.Run("agent heal --json").OK(`"did": []`)
}

// TestAgentProjectScope: the settings of a project are in the project, and it is said who reads
// them; the settings of the user stay.
func TestAgentProjectScope(t *testing.T) {
	p := used(t)
	before := p.Read(".claude.json") + p.Read(".claude/settings.json")
	p.Run("agent setup claude --scope project --name walls").OK("claude: wrote "+p.Project, "note: these files are in the project")
	if p.Read(".claude.json")+p.Read(".claude/settings.json") != before {
		t.Error("the settings of the user have changed")
	}
	if text := p.Read("project/.mcp.json"); !strings.Contains(text, `"walls"`) {
		t.Errorf(".mcp.json: %s", text)
	}
	p.Run("agent remove claude --scope project --name walls").OK("claude: ")
	if text := p.Read("project/.mcp.json"); text != "" {
		t.Errorf("afterwards .mcp.json: %s", text)
	}
	t.Chdir(p.Home)
	p.Run("agent setup claude --scope project").Fails(api.ExitOurs)
}

// TestAgentPermissions: the ceiling is read before it is registered, and registered by its
// absolute path.
func TestAgentPermissions(t *testing.T) {
	p := used(t)
	wrong := p.Write("wrong.json", `{"netwrk": 1}`)
	good := p.Write("good.json", `{"network": {"mode": "disabled"}}`)
	p.Refusals(map[string]string{"agent setup claude --permissions " + wrong: "netwrk",
		"agent setup claude --permissions absent": "there is no ceiling file"})
	p.Run("agent setup claude --permissions ../good.json").OK("claude: wrote ")
	quoted, _ := json.Marshal(good)
	if !strings.Contains(p.Read(".claude.json"), string(quoted)) {
		t.Errorf("%s", p.Read(".claude.json"))
	}
}

func TestAgentRefusals(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Refusals(map[string]string{
		"agent setup":                              "you have used none of the agents yet: ",
		"agent setup claude --scope wide":          `--scope "wide": user or project`,
		"agent setup claude --name A":              `--name "A": small letters, digits and hyphens`,
		"agent setup claude --name 1a":             `--name "1a": small letters`,
		"agent setup claude --name ''":             "--name",
		"agent setup claude --permissions ''":      "--permissions",
		"agent remove claude --block-builtin":      "--block-builtin",
		"agent remove claude --scope wide":         `--scope "wide": user or project`,
		"agent status nobody":                      "nobody",
		"agent heal extra":                         "extra",
		"agent setup claude --name " + long(33):    "at most 32",
		"agent remove claude --name a_b --dry-run": "small letters",
	})
	p.Environ = []string{"HOME=relative"}
	p.Run("agent status").Fails(api.ExitOurs, `HOME is "relative", want an absolute path`)
}

func long(n int) string { return strings.Repeat("a", n) }

// TestProgramIsSafe: a program that an agent could replace is not registered.
func TestProgramIsSafe(t *testing.T) {
	p := clitest.New(t, Commands())
	env := &cmdenv.Env{Environ: p.Environ}
	p.Write("checkout/.git/HEAD", "ref: refs/heads/main\n")
	for program, safe := range map[string]bool{
		"/usr/bin/carrel": true, p.Home + "/bin/carrel": true, p.Project + "/carrel": false, p.Project + "/bin/carrel": false,
		p.Home + "/checkout/carrel": false, p.Project + "2/carrel": true,
	} {
		for _, dir := range []string{filepath.Dir(program)} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		err := programIsSafe(env, clients.Host{Program: program, Project: p.Project, Home: p.Home})
		if (err == nil) != safe {
			t.Errorf("%s: %v", program, err)
		}
		if err != nil && !strings.Contains(err.Error(), "hint: install it elsewhere") {
			t.Errorf("%s: %v", program, err)
		}
	}
}

// TestAgentGate: what cannot be told is refused, with status 2 as agents want it, and inside the
// walls everything is let through.
func TestAgentGate(t *testing.T) {
	p := clitest.New(t, Commands())
	for _, c := range []struct {
		line, in string
		status   int
	}{
		{"agent gate claude --always", `{"tool_name":"Bash"}`, 2},
		{"agent gate claude", `{"tool_name":"Bash"}`, 0},
		{"agent gate", `{}`, 2},
		{"agent gate claude codex", `{}`, 2},
		{"agent gate nobody --always", `{"tool_name":"Bash"}`, 2},
	} {
		p.In = c.in
		r := p.Run(c.line)
		if r.Status != c.status || r.Err != "" || r.Out != "" || (r.Notice != "") != (c.status != 0) || strings.Count(r.Notice, "\n") > 1 {
			t.Errorf("%s: %+v", c.line, r)
		}
	}
	p.Environ = append(p.Environ, "CARREL=1")
	p.In = `{"tool_name":"Bash"}`
	p.Run("agent gate claude --always").OK()
}
