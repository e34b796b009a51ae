//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"carrel/internal/api"
	"carrel/test/fakemodel"
)

// tasks gives the tasks of the world's repository.
func (w *world) tasks() (list []api.Task) {
	w.t.Helper()
	w.must(json.Unmarshal([]byte(w.fine("task", "list", "--json")), &list))
	return list
}

// dropTasks throws all of them away, at the end of a test.
func (w *world) dropTasks() {
	w.t.Helper()
	for _, one := range w.tasks() {
		w.fine("task", "drop", one.Name, "--force")
	}
	if left := w.outsideSh("git worktree list; git branch --list 'task/*'; git fsck --no-dangling 2>&1"); strings.Count(left, "\n") != 1 {
		w.t.Errorf("left in the repository: %s", left)
	}
}

// TestCoordinators: real agents with a scripted model split work over three tasks, wait for them,
// merge two and drop one; the person merges what came of it, and takes it back.
func TestCoordinators(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool, field string
		argv        []string
	}{
		"claude": {"Bash", "command", []string{"claude", "-p", "{prompt}", "--output-format", "json"}},
		"codex": {"exec_command", "cmd", []string{"codex", "exec", "--skip-git-repo-check", "-c",
			"model_reasoning_summary=\"none\"", "{prompt}"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.litter = true // worktrees
			w.installAgents()
			w.repository()
			say := func(command string) fakemodel.Turn {
				input := map[string]any{c.field: command}
				if name == "claude" {
					input["description"] = "work"
				} else {
					input["yield_time_ms"] = 60_000
				}
				return fakemodel.Turn{Tool: c.tool, Input: input}
			}
			sub := func(name string) string {
				return "carrel task new " + name + " --prompt 'part " + name + "' -- sh -c 'echo {prompt} > " + name + "; git add .; git commit -q -m " + name + "'"
			}
			m := w.model([]fakemodel.Turn{
				say(sub("one") + " && " + sub("two") + " && " + sub("three")),
				say("carrel task wait one two three --timeout 60s; carrel task list"),
				say("carrel task merge one && carrel task merge two --squash --message 'the second' && carrel task drop three --force; git log --oneline"),
				{Text: "done"},
			})
			switch name {
			case "claude":
				w.setenv("ANTHROPIC_BASE_URL", m.URL)
				w.setenv("ANTHROPIC_API_KEY", "key-for-the-model")
				w.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
				w.setenv("DISABLE_TELEMETRY", "1")
			default:
				w.write(w.home+"/.codex/config.toml",
					"model = \"m\"\nmodel_provider = \"local\"\n[model_providers.local]\nname = \"local\"\nbase_url = \""+
						m.URL+"/v1\"\nwire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\n")
				w.setenv("OPENAI_API_KEY", "key-for-the-model")
			}
			before := w.outsideSh("git rev-parse main")
			w.fine(append([]string{"task", "new", "lead", "--agent", name, "--no-prompts", "--coordinator", "--prompt", "split it",
				"--"}, c.argv...)...)
			if r := w.carrel("task", "wait", "lead", "--timeout", "3m"); r.code != 0 || !m.Finished() {
				t.Fatalf("the coordinator: %s\nscreen: %s\nresults: %q", r, w.carrel("task", "capture", "lead").out, m.Results())
			}
			results := strings.Join(m.Results(), "\n")
			for _, want := range []string{"began three on task/three", "merged one into task/lead", "merged two into task/lead",
				"dropped three", "the second"} {
				if !strings.Contains(results, want) {
					t.Errorf("without %q: %s", want, results)
				}
			}
			if got := w.outsideSh("git rev-parse main"); got != before {
				t.Error("main has moved without a person")
			}
			states := ""
			for _, e := range (&stay{w: w, name: "lead"}).events() {
				if e.Kind == api.EventAgentState {
					states += e.Text + " "
				}
			}
			if !strings.Contains(states, "working") || !strings.HasSuffix(states, "done ") {
				t.Errorf("what the agent said of itself: %q", states)
			}
			if got := w.fine("task", "diff", "lead"); !strings.Contains(got, "+part one\n") || !strings.Contains(got,
				"+part two\n") || strings.Contains(got, "part three") {
				t.Errorf("its work: %s", got)
			}
			w.fine("task", "merge", "lead", "--yes")
			if got := w.outsideSh("cat one two; ls; git status --short"); got != "part one\npart two\nfile\none\ntwo\n" {
				t.Errorf("merged: %q", got)
			}
			w.fine("undo")
			if got := w.outsideSh("git rev-parse main; git status --short; ls"); got != before+"file\n" {
				t.Errorf("undone: %q", got)
			}
			w.dropTasks()
		})
	}
}

// TestHostileCoordinator: one that has been taken over reaches no other task, not main, and no more
// than it has itself.
func TestHostileCoordinator(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.litter = true // worktrees
		w.need("python3")
		w.repository()
		w.outsideSh("touch .gitkeep; git add .; git commit -q -m second")
		w.fine("task", "new", "persons", "--", "sh", "-c", "echo mine > mine; git add .; git commit -q -m mine; sleep 1000")
		w.fine("task", "new", "lead", "--coordinator", "--network", "closed", "--", "sleep", "1000")
		w.fine("task", "run", "lead", "--", "carrel", "task", "new", "own", "--", "sh", "-c", "echo x > x; git add .; git commit -q -m x")
		w.fine("task", "run", "lead", "--", "carrel", "task", "wait", "own", "--timeout", "30s")
		eventually(t, "the person's task to commit", func() bool { return w.outsideSh("git log --format=%s -1 task/persons") == "mine\n" })
		scene := func() string {
			return w.outsideSh("git rev-parse main task/persons; cat .git/worktrees/persons/locked; cat .git/worktrees/persons/HEAD; git status --short; git config --list --local")
		}
		before := scene()
		w.write(w.project+"/hostile.py", program("task/hostile.py"))
		script := w.read(w.project + "/hostile.py")
		w.must(os.Remove(w.project + "/hostile.py"))
		r := w.carrel("task", "run", "lead", "--", "python3", "-c", script, w.outside, "own")
		if r.code != 0 || strings.Contains(r.out, "CARRIED OUT") {
			t.Errorf("carried out: %s", r)
		}
		if !strings.Contains(r.out, "tasks: 8\n") {
			t.Errorf("canary, or a bound: %s", r)
		}
		if after := scene(); after != before {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
		if got := w.outsideSh("ls -A " + w.outside); got != "" {
			t.Errorf("outside: %s", got)
		}
		for _, one := range w.tasks() {
			if one.Parent != "" && one.Parent != "lead" {
				t.Errorf("%+v", one)
			}
		}
		// Its tasks have what it has: no network, and no tasks of their own.
		got := w.fine("task", "run", "own", "--", "sh", "-c", "cat /proc/net/dev | grep -c : ; carrel task list || true")
		if !strings.HasPrefix(got, "1\n") || strings.Contains(got, "TASK") {
			t.Errorf("a task of it: %s", got)
		}
		w.dropTasks()
	})
}

// TestTenTasks: ten at once commit, build, test and are merged; each repository is whole, and
// each merge is taken back exactly.
func TestTenTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true // worktrees
	w.repository()
	w.write(w.project+"/Makefile", "all: $(patsubst %.in,%.out,$(wildcard *.in))\n%.out: %.in\n\ttr a-z A-Z <$< >$@\n"+
		"test: all\n\tfor f in *.in; do test \"$$(tr a-z A-Z <$$f)\" = \"$$(cat $${f%.in}.out)\" || exit 1; done\n")
	w.outsideSh(`echo '*.out' >.gitignore; git add .; git commit -q -m make`)
	w.need("make")
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			name := fmt.Sprint("t", i)
			script := "for n in 1 2 3; do echo " + name + " $n > " + name + "-$n.in; make -s test && git add . && git commit -q -m " + name + "-$n; done"
			if r := w.carrel("task", "new", name, "--prompt", "x", "--", "sh", "-ec", ": {prompt}; "+script); r.code != 0 {
				t.Errorf("%s: %s", name, r)
			}
		})
	}
	all.Wait()
	words := []string{"task", "wait", "--timeout", "3m"}
	for i := range 10 {
		words = append(words, fmt.Sprint("t", i))
	}
	if r := w.carrel(words...); r.code != 0 {
		t.Fatalf("not all are done: %s", r)
	}
	for _, one := range w.tasks() {
		if one.Commits != 3 {
			t.Errorf("%+v", one)
		}
		w.fine("task", "run", one.Name, "--", "git", "fsck", "--no-dangling")
	}
	state := func() string {
		return w.outsideSh("git rev-parse main; git status --short; git ls-files -s; cat *.in 2>/dev/null || true")
	}
	states := []string{state()}
	for i := range 10 {
		w.fine("task", "merge", fmt.Sprint("t", i), "--yes", "--check", "make -s test")
		states = append(states, state())
	}
	if got := w.outsideSh("ls *.in | wc -l; make -s test && echo good; git fsck --no-dangling; rm -f *.out"); !strings.HasPrefix(got, "30\ngood\n") {
		t.Errorf("all together: %s", got)
	}
	for i := 9; i >= 0; i-- {
		w.fine("undo")
		if got := state(); got != states[i] {
			t.Fatalf("undo %d:\n%s\nwant\n%s", i, got, states[i])
		}
	}
	w.dropTasks()
}

// TestClaudeInTasks: `carrel claude --task NAME` begins a task and goes on with it, and the worktrees
// of Claude Code's own work inside.
func TestClaudeInTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true // worktrees
	w.installAgents()
	w.repository()
	w.setenv("ANTHROPIC_API_KEY", "key-for-the-model")
	w.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
	w.setenv("DISABLE_TELEMETRY", "1")
	play := func(command string) *fakemodel.Server {
		m := w.model([]fakemodel.Turn{{Tool: "Bash", Input: map[string]any{"command": command, "description": "work"}}, {Text: "done"}})
		w.setenv("ANTHROPIC_BASE_URL", m.URL)
		return m
	}
	m := play("echo by claude > work; git add work; git commit -q -m work; git branch --show-current")
	w.fine("claude", "--task", "fix", "--no-prompts", "--", "-p", "do it", "--output-format", "json")
	if r := w.carrel("task", "wait", "fix", "--timeout", "2m"); r.code != 0 || !m.Finished() ||
		!strings.Contains(strings.Join(m.Results(), ""), "task/fix") {
		t.Fatalf("%s %q", r, m.Results())
	}
	if again := strings.TrimSpace(w.fine("claude", "--task", "fix")); again != string(w.tasks()[0].Path) {
		t.Errorf("gone on with: %q", again)
	}
	w.fine("task", "merge", "fix", "--yes")
	if got := w.outsideSh("cat work"); got != "by claude\n" {
		t.Errorf("merged: %q", got)
	}
	m = play("echo own > own; git add own; git commit -q -m own; pwd; git branch --show-current")
	r := w.carrel("claude", "--no-prompts", "--", "--worktree", "side", "-p", "do it", "--output-format", "json")
	if r.code != 0 || !m.Finished() || !strings.Contains(strings.Join(m.Results(), ""), w.project+"/.claude/worktrees/side\nworktree-side") {
		t.Errorf("Claude Code's own worktree: %s %q", r, m.Results())
	}
	if got := w.outsideSh("git log --format=%s -1 worktree-side; git fsck --no-dangling; git worktree remove --force .claude/worktrees/side; git branch -q -D worktree-side"); got != "own\n" {
		t.Errorf("afterwards: %q", got)
	}
	w.dropTasks()
}
