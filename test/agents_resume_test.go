//go:build linux

package e2e

import (
	"regexp"
	"strings"
	"testing"

	"carrel/test/fakemodel"
)

// TestResumeLine: a run of an agent at a terminal ends with the line that goes on with its
// conversation, and the line does.
func TestResumeLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.installAgents()
	w.setenv("ANTHROPIC_API_KEY", "key-for-the-model")
	w.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
	w.setenv("DISABLE_TELEMETRY", "1")
	w.litter = true // the agent's socket comes and goes
	m := w.model([]fakemodel.Turn{{Text: "first answer"}, {Text: "second answer"}})
	w.setenv("ANTHROPIC_BASE_URL", m.URL)
	tm := w.openTerminal(w.command(w.bin, "claude", "-p", "the word is cormorant"))
	if code := tm.wait(); code != 0 {
		t.Fatalf("claude: %s", tm.all())
	}
	line := regexp.MustCompile("to resume: `carrel claude --resume ([0-9a-f-]{36})`").FindStringSubmatch(tm.all())
	if line == nil {
		t.Fatalf("no line: %s", tm.all())
	}
	if out := w.fine("claude", "--resume", line[1], "-p", "go on"); !strings.Contains(out, "second answer") {
		t.Errorf("resumed: %s", out)
	}
	if !m.Heard("cormorant") || !m.Finished() {
		t.Error("the model did not hear the first conversation")
	}
}
