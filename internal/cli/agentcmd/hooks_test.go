package agentcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
)

const claudeSettings = "{\n  // mine\n  \"model\": \"opus\"\n}\n"

// TestHooksRoundTrip: hooks are put in and taken out, a dry run writes nothing, a second time
// changes nothing, and at the end the file is byte for byte what it was.
func TestHooksRoundTrip(t *testing.T) {
	p := clitest.New(t, Commands())
	file := p.Write(".claude/settings.json", claudeSettings)
	before := p.Tree()
	p.Run("hooks status claude").OK("AGENT", "claude", "not installed", file)
	p.Run("hooks install --dry-run claude").OK("+", "hooks").Lacks("the hooks are in")
	p.Run("hooks install --dry-run --json claude").OK(`"changed": []`, `"diff": "`)
	if p.Tree() != before {
		t.Fatalf("a dry run has written:\n%s", p.Tree())
	}
	p.Run("hooks install claude").OK("claude: the hooks are in " + file)
	installed := p.Read(".claude/settings.json")
	if !strings.Contains(installed, "// mine") || !strings.Contains(installed, "hooks") {
		t.Errorf("%s", installed)
	}
	p.Run("hooks status claude").OK("installed").Lacks("not installed", "partly")
	p.Run("hooks install claude").OK("claude: nothing to do, the hooks are in " + file)
	if again := p.Read(".claude/settings.json"); again != installed {
		t.Errorf("a second time:\n%s", again)
	}
	p.Run("hooks remove --dry-run claude").OK("-").Lacks("gone")
	p.Run("hooks remove claude").OK("claude: the hooks are gone from " + file)
	if p.Tree() != before {
		t.Errorf("afterwards:\n%s", p.Tree())
	}
	p.Run("hooks remove claude").OK("claude: nothing to do, no hooks are installed")
}

// TestHooksAreForPresentAgents: without a name, install is for the agents that were used here,
// and a file that is only ours goes with the hooks.
func TestHooksAreForPresentAgents(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Refusals(map[string]string{
		"hooks install":            "none of the agents has a settings directory here: ",
		"hooks install nobody":     "nobody",
		"hooks remove nobody":      "nobody",
		"hooks status nobody":      "nobody",
		"hooks install --odd":      "--odd",
		"hooks status claude none": "none",
	})
	if err := os.Mkdir(filepath.Join(p.Home, ".gemini"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.Run("hooks status").OK("claude", "no settings file", "codex", "gemini")
	p.Run("hooks install").OK("gemini: the hooks are in ").Lacks("claude", "codex")
	if tree := p.Tree(); !strings.Contains(tree, ".gemini/settings.json") || strings.Contains(tree, ".claude") {
		t.Errorf("%s", tree)
	}
	p.Run("hooks remove gemini").OK("gemini: the hooks are gone, and with them, as it held nothing else, ")
	if tree := p.Tree(); tree != "" {
		t.Errorf("afterwards:\n%s", tree)
	}
}

// TestHooksAllOrNone: where one file cannot be parsed, no other is written.
func TestHooksAllOrNone(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Write(".claude/settings.json", claudeSettings)
	p.Write(".gemini/settings.json", "{")
	before := p.Tree()
	p.Run("hooks install claude gemini").Fails(api.ExitOurs, ".gemini/settings.json")
	if p.Tree() != before {
		t.Errorf("something was written:\n%s", p.Tree())
	}
	p.Run("hooks status").OK("not installed", "unreadable", "gemini: ")
	p.Run("hooks status --json gemini").OK(`"error": "`)
}

// TestHooksInsideAreRefused: behind walls the settings are a copy that is forgotten.
func TestHooksInsideAreRefused(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Write(".claude/settings.json", claudeSettings)
	p.Environ = append(p.Environ, "CARREL=1")
	p.Refusals(map[string]string{
		"hooks install claude": "this is inside a workspace", "hooks remove": "this is inside a workspace",
		"agent setup claude": "this is inside a workspace", "agent remove": "this is inside a workspace",
		"agent heal": "this is inside a workspace",
		"stdio":      "this is inside a workspace",
	})
	p.Run("hooks status claude").OK("not installed")
}

// TestAgentCompletion: an agent that stands on the line already is not offered again.
func TestAgentCompletion(t *testing.T) {
	p := clitest.New(t, Commands())
	for _, line := range []string{"hooks install", "hooks status", "agent setup", "agent remove", "agent status"} {
		words := append([]string{"__complete"}, strings.Fields(line)...)
		p.Words(append(words, "")...).OK("claude\n", ":4")
		p.Words(append(words, "claude", "")...).OK("codex\n", ":4").Lacks("claude")
	}
}
