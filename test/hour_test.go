//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"

	"carrel/test/fakemodel"
)

// TestFirstHour is a new user's first hour behind README's tour (TestTour): an agent
// twice in two projects, one tool call taken back, a host allowed for good, what is kept
// listed and removed.
// Nothing asks, nothing is left that resists rm.
func TestFirstHour(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.installAgents()
	w.litter = true
	second := w.home + "/src/second"
	w.mkdir(second, 0o700)
	w.write(w.home+"/.claude/.credentials.json", `{"claudeAiOauth":{"accessToken":"FAKE-TOKEN","refreshToken":"r","expiresAt":1}}`)
	state := w.home + "/.local/state/carrel"
	for _, project := range []string{w.project, second} {
		w.project = project
		for _, name := range []string{"one", "two"} {
			m := w.claudeHere(
				fakemodel.Turn{Tool: "Write", Input: map[string]any{"file_path": project + "/" + name, "content": name}},
				fakemodel.Turn{Tool: "Bash", Input: map[string]any{"command": "cp " + name + " " + name + ".copy", "description": "work"}},
				fakemodel.Turn{Text: "done"})
			if r := w.carrel("claude", "--no-prompts", "--", "-p", "do it"); r.code != 0 || !m.Finished() {
				t.Fatalf("%s in %s: %s\n%q", name, project, r, m.Results())
			}
		}
		if r := w.carrel("undo"); r.code != 0 || exists(project+"/two.copy") || !exists(project+"/two") || !exists(project+"/one.copy") {
			t.Errorf("one tool call is not undone alone: %s", r)
		}
		if found := w.outsideSh("grep -rl FAKE-TOKEN " + state + " || true"); found != "" {
			t.Errorf("after the agent's end there are copies of the login: %s", found)
		}
	}
	tm := w.openTerminal(w.command(w.bin, "allow", "host.example"))
	tm.expect("Type second")
	tm.send("second\n")
	if code := tm.wait(); code != 0 {
		t.Errorf("allow: status %d, %q", code, tm.all())
	}
	if list := w.fine("allow", "--list"); !strings.Contains(list, "host.example") {
		t.Errorf("allow --list: %s", list)
	}
	if list := w.fine("projects"); !strings.Contains(list, "/src/desk") || !strings.Contains(list, "/src/second") {
		t.Errorf("projects: %s", list)
	}
	w.fine("purge", "--project", second, "--yes")
	if list := w.fine("projects"); !strings.Contains(list, "/src/desk") || strings.Contains(list, "/src/second") {
		t.Errorf("projects, with one purged: %s", list)
	}
	w.outsideSh("du -s " + state + " && tar cf /dev/null -C " + state + " . && cp -a " + state + " " + state + ".copy && rm -r " + state + ".copy")
	w.fine("purge", "--all", "--yes")
	if left, err := os.ReadDir(state); err == nil && len(left) > 0 {
		t.Errorf("purge leaves %v", left)
	}
	if !exists(w.home+"/.claude/.credentials.json") || !exists(second+"/two") {
		t.Error("purge has taken something of the person's")
	}
}
