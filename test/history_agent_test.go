//go:build linux

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/test/fakemodel"
)

// TestHistoryOfClaudeCode: one session of the real agent edits files, removes
// the sources, resets the repository, installs packages and builds. Its history
// has a step for each, and undo and redo bring back each state exactly.
func TestHistoryOfClaudeCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.installAgents()
	w.furnish()
	w.workshopFiles()
	w.setenv("ANTHROPIC_API_KEY", "key-for-the-model")
	w.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
	w.setenv("DISABLE_TELEMETRY", "1")
	w.litter = true // the agent's socket comes and goes
	var scenes []scene
	turn := func(tool, key, value string, more ...any) fakemodel.Turn {
		input := map[string]any{key: value}
		for i := 0; i < len(more); i += 2 {
			input[more[i].(string)] = more[i+1]
		}
		return fakemodel.Turn{Tool: tool, Input: input}
	}
	// between looks at the project while the agent waits, when its step is over.
	between := func(next fakemodel.Turn) fakemodel.Turn {
		next.Before = func() {
			for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(200 * time.Millisecond) {
				list := w.steps()
				if !slices.ContainsFunc(list, func(s toldStep) bool { return s.State == "running" }) {
					break
				}
				if time.Now().After(deadline) {
					t.Errorf("a step does not end while the agent waits: %+v", list)
					break
				}
			}
			scenes = append(scenes, w.scene())
		}
		return next
	}
	bash := func(command string) fakemodel.Turn { return turn("Bash", "command", command, "description", "work") }
	m := w.model([]fakemodel.Turn{
		between(turn("Write", "file_path", w.project+"/src/work.c", "content", "int work(void) { return 0; }\n")),
		between(turn("Edit", "file_path", w.project+"/src/work.c", "old_string", "return 0", "new_string", "return 42")),
		between(bash("rm -rf src")),
		between(bash("git reset --hard -q && git log --oneline | wc -l")),
		between(bash("npm install --offline --no-audit --no-fund ./greeting.tgz >/dev/null && ls node_modules")),
		between(bash("make -s && ls build")),
		between(fakemodel.Turn{Text: "done"}),
	})
	w.setenv("ANTHROPIC_BASE_URL", m.URL)
	r := w.run("--", "claude", "-p", "do it", "--dangerously-skip-permissions", "--output-format", "json")
	if r.code != 0 || !m.Finished() || len(scenes) != 7 {
		t.Fatalf("the agent did not finish: %s\nresults: %q, %d scenes", r, m.Results(), len(scenes))
	}
	w.isAgain("nothing changes after the last tool", scenes[6])
	list := w.steps()
	if len(list) != 6 {
		t.Fatalf("%d steps: %+v", len(list), list)
	}
	wrote, edit, removed, reset, install, build := list[0], list[1], list[2], list[3], list[4], list[5]
	if wrote.Added != 1 || edit.Added != 0 || edit.Modified != 1 || removed.Added != 0 || removed.Removed < 40 || reset.Added < 30 || install.Added < 5 || build.Added < 3 {
		t.Errorf("history: %+v", list)
	}
	if out := w.fine("history"); strings.Count(out, "claude: ") != 6 || !strings.Contains(out, "claude: Bash rm -rf src") {
		t.Errorf("history: %s", out)
	}
	for i := 5; i >= 0; i-- {
		w.fine("undo")
		w.isAgain("undone: "+[]string{"Write", "Edit", "rm -rf src", "git reset --hard", "npm install", "make"}[i], scenes[i])
	}
	for i := range 6 {
		w.fine("redo")
		w.isAgain("made again", scenes[i+1])
	}
	w.fine("undo", "6")
	w.isAgain("the whole session undone", scenes[0])
	w.fine("redo", "6")
	w.isAgain("the whole session again", scenes[6])
}

// workshopFiles is what npm needs to install a package without a network.
func (w *world) workshopFiles() {
	w.t.Helper()
	w.need("node", "npm", "make", "cc")
	w.npmPackage(w.project + "/greeting.tgz")
	w.write(w.project+"/package.json", `{"name":"desk","version":"1.0.0"}`)
}
