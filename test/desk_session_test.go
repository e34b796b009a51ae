//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"carrel/test/fakemodel"
)

// TestDeskSession: a development session: a server, a watcher that tests each change, and
// the real agent side by side in one workspace, held and let go, with a history for each.
func TestDeskSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.installAgents()
	w.workshop("claude")
	w.need("python3", "curl")
	w.write(w.project+"/page.txt", "the first page\n")
	w.write(w.project+"/server.js", program("desk_session/server.js"))
	w.write(w.project+"/watch.py", program("desk_session/watch.py"))
	w.write(w.home+"/.claude.json", `{"hasCompletedOnboarding":true}`)
	w.litter = true                 // the agent's socket comes and goes
	var page atomic.Pointer[string] // what the agent's model finds between two tools
	fetch := "curl -s --max-time 5 --noproxy '*' http://127.0.0.1:8123/"
	bash := func(command string) fakemodel.Turn {
		return fakemodel.Turn{Tool: "Bash", Input: map[string]any{"command": command, "description": "work"}}
	}
	s := &stay{w: w, name: "dev"}
	held := bash("sleep 0.3; cat report; " + fetch)
	held.Before = func() {
		s.fine("pause")
		time.Sleep(200 * time.Millisecond)
		s.person("resume")
		got := s.do("exec", "--", "sh", "-c", fetch).out
		page.Store(&got)
	}
	m := w.model([]fakemodel.Turn{
		bash(fetch),
		{Tool: "Write", Input: map[string]any{"file_path": w.project + "/new.txt", "content": "by the agent\n"}},
		bash("echo 'the second page' > page.txt; cat new.txt"),
		held,
		{Text: "done"},
	})
	w.setenv("ANTHROPIC_BASE_URL", m.URL)
	w.setenv("ANTHROPIC_API_KEY", "key-for-the-model")
	w.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
	w.setenv("DISABLE_TELEMETRY", "1")
	t.Cleanup(s.end)
	s.fine("start", "--agent", "claude", "--no-prompts", "--purpose", "the page")
	s.ns = strings.TrimSpace(s.sh("readlink /proc/self/ns/pid"))
	s.fine("launch", "--name", "server", "--", "node", "server.js")
	s.fine("launch", "--name", "watcher", "--", "python3", "watch.py")
	eventually(t, "the server to listen", func() bool { return strings.Contains(s.do("logs", "server").out, "listens") })
	eventually(t, "the watcher to test", func() bool { return exists(w.project + "/report") })

	follow := w.command(w.bin, s.words("logs", "watcher", "--follow")...) // one that goes away
	w.must(w.start(follow))
	r := s.do("exec", "--", "claude", "-p", "do it", "--output-format", "json")
	if r.code != 0 || !m.Finished() {
		t.Fatalf("the agent: %s\n%q", r, m.Results())
	}
	results := strings.Join(m.Results(), "\n")
	if !strings.Contains(results, "the first page") || !strings.Contains(results, "pass: the second page") || strings.Count(results, "the second page") < 2 {
		t.Errorf("what the agent saw: %q", m.Results())
	}
	if got := page.Load(); got == nil || *got != "the second page\n" {
		t.Errorf("seen beside the agent after pause and resume: %v", got)
	}
	w.must(follow.Process.Kill())
	_ = follow.Wait()
	for i := range 5 { // reconnects
		if out := s.fine("logs", "watcher"); strings.Count(out, "tested") < 2 {
			t.Errorf("look %d: %q", i, out)
		}
		s.fine("start", "--agent", "claude", "--no-prompts", "--purpose", "the page")
	}
	if a := s.app("server"); !a.Running || !s.app("watcher").Running {
		t.Errorf("the server: %+v", a)
	}
	s.sessionHistory()
}

// sessionHistory looks at the end of the session and at its history.
func (s *stay) sessionHistory() {
	t, w := s.w.t, s.w
	t.Helper()
	var apps []toldApp
	if err := json.Unmarshal([]byte(s.fine("apps", "--json")), &apps); err != nil {
		t.Fatal(err)
	}
	if r := s.do("stop"); r.code != 0 || len(s.inside()) != 0 || supervisors(w) != 0 {
		t.Errorf("stop: %s, left %v", r, s.inside())
	}
	of := make(map[string][]toldStep)
	for _, step := range w.steps() {
		for _, name := range w.pathsOf(step.Step) {
			of[name] = append(of[name], step)
		}
	}
	for name, want := range map[string]string{"hits": "server.js", "report": "watch.py", "new.txt": "claude", "page.txt": "claude"} {
		if !slices.ContainsFunc(of[name], func(step toldStep) bool { return strings.Contains(step.Label, want) || want == "claude" }) {
			t.Errorf("%s was changed in %+v", name, of[name])
		}
		for _, step := range of[name] {
			if want != "claude" && !strings.Contains(step.Label, want) {
				t.Errorf("%s was changed in %+v", name, step)
			}
		}
	}
	for _, a := range apps {
		if (a.Name == "server" || a.Name == "watcher") && len(a.Steps) == 0 {
			t.Errorf("no steps of %+v", a)
		}
	}
	if len(of["page.txt"]) > 0 {
		if r := w.plain(w.bin, "undo", "--step", fmt.Sprint(of["page.txt"][0].Step)); r.code != 0 || w.read(w.project+"/page.txt") != "the first page\n" || !exists(w.project+"/report") {
			t.Errorf("undo of the agent's edit: %s", r)
		}
	}
}
