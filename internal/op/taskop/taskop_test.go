package taskop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/op"
	"carrel/internal/task"

	"pgregory.net/rapid"
)

// TestStateOf: what counts more decides how a task stands.
func TestStateOf(t *testing.T) {
	running := func() *api.WorkspaceStatus { return &api.WorkspaceStatus{State: api.StateRunning} }
	with := func(change func(*api.WorkspaceStatus)) *api.WorkspaceStatus { s := running(); change(s); return s }
	for _, c := range []struct {
		name   string
		status *api.WorkspaceStatus
		agent  *api.App
		want   string
	}{
		{"no agent", running(), nil, api.TaskRunning},
		{"an agent that says nothing", running(), &api.App{Running: true}, api.TaskRunning},
		{"working", with(func(s *api.WorkspaceStatus) { s.AgentState = api.TaskWorking }), &api.App{Running: true}, api.TaskWorking},
		{"done", with(func(s *api.WorkspaceStatus) { s.AgentState = api.TaskDone }), &api.App{Running: true}, api.TaskDone},
		{"an approval waits", with(func(s *api.WorkspaceStatus) { s.AgentState, s.Pending = api.TaskWorking, 1 }),
			&api.App{Running: true}, api.TaskWaiting},
		{"ended well", with(func(s *api.WorkspaceStatus) { s.AgentState = api.TaskWorking }), &api.App{}, api.TaskDone},
		{"ended badly", with(func(s *api.WorkspaceStatus) { s.AgentState = api.TaskDone }), &api.App{Exit: 1}, api.TaskFailed},
		{"paused", with(func(s *api.WorkspaceStatus) { s.State = api.StatePaused }), &api.App{Running: true}, api.TaskPaused},
		{"read only", with(func(s *api.WorkspaceStatus) { s.Control = &api.Control{Mode: api.ControlReadOnly} }), nil, api.TaskPaused},
		{"active", with(func(s *api.WorkspaceStatus) { s.Control = &api.Control{Mode: api.ControlActive} }), nil, api.TaskRunning},
	} {
		if got := stateOf(c.status, c.agent); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestParseStatus: the letters of git-status(1), and paths of any bytes.
func TestParseStatus(t *testing.T) {
	changed, gone := parseStatus(" M a\x00?? new file\x00 D gone\x00D  gone too\x00MD both\x00A  added\x00?? -x\ny\x00\x00zz")
	if want := []string{"a", "new file", "added", "-x\ny"}; !slices.Equal(changed, want) {
		t.Errorf("changed %q, want %q", changed, want)
	}
	if want := []string{"gone", "gone too", "both"}; !slices.Equal(gone, want) {
		t.Errorf("gone %q, want %q", gone, want)
	}
}

// TestParseNumbers: lines are added up, binary files count as files.
func TestParseNumbers(t *testing.T) {
	for out, want := range map[string]api.TaskDiff{
		"":                                    {},
		"3\t1\ta\x00":                         {Files: 1, Added: 3, Removed: 1},
		"3\t1\ta\x00-\t-\tb\x00":              {Files: 2, Added: 3, Removed: 1},
		"3\t1\t\x00old\x00new\x001\t0\tc\x00": {Files: 2, Added: 4, Removed: 1},
		"nonsense\x00x\ty\tz\x00":             {},
	} {
		if got := parseNumbers(out); *got != want {
			t.Errorf("%q: %+v, want %+v", out, got, want)
		}
	}
}

// TestCommand: what works on a task, and the words that start its workspace.
func TestCommand(t *testing.T) {
	for _, c := range []struct {
		name  string
		r     NewRequest
		argv  []string
		agent string
		err   string
	}{
		{"an agent with a prompt", NewRequest{Agent: "claude", Prompt: "-do it"}, []string{"claude", "--", "-do it"}, "claude", ""},
		{"codex", NewRequest{Agent: "codex", Prompt: "x"}, []string{"codex", "--", "x"}, "codex", ""},
		{"gemini", NewRequest{Agent: "gemini", Prompt: "x"}, []string{"gemini", "--prompt-interactive=x"}, "gemini", ""},
		{"opencode", NewRequest{Agent: "opencode", Prompt: "x"}, []string{"opencode", "--prompt=x"}, "opencode", ""},
		{"without a prompt", NewRequest{Agent: "claude"}, []string{"claude"}, "claude", ""},
		{"a command", NewRequest{Argv: []string{"claude", "-p", "{prompt}"}, Prompt: "x"}, []string{"claude", "-p", "x"}, "claude", ""},
		{"a place in a word", NewRequest{Argv: []string{"sh", "-c", "echo '{prompt}'"}, Prompt: "x"}, []string{"sh", "-c", "echo 'x'"}, "", ""},
		{"no place", NewRequest{Argv: []string{"make"}, Prompt: "x"}, nil, "", "{prompt}"},
		{"nobody", NewRequest{Prompt: "x"}, nil, "", "no agent"},
		{"neither", NewRequest{}, nil, "", ""},
		{"unknown", NewRequest{Agent: "nobody"}, nil, "", "preset list"},
		{"a zero byte", NewRequest{Argv: []string{"a\x00b"}}, nil, "", "zero byte"},
		{"a long purpose", NewRequest{Purpose: strings.Repeat("x", 1000)}, nil, "", "purpose"},
	} {
		f := &found{&task.Task{Name: "n", Workspace: "w", Tree: task.Tree{Path: "/a"}}, "key"}
		c.r.Words = []string{"--network=closed"}
		err := f.command(&c.r)
		if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %q", c.name, err, c.err)
		}
		if err != nil {
			continue
		}
		if got := words(f.Argv); !slices.Equal(got, c.argv) || f.Agent != c.agent {
			t.Errorf("%s: %q %q", c.name, got, f.Agent)
		}
		if got := words(f.Words); got[0] != "start" || got[1] != "--network=closed" || !slices.Equal(got[len(got)-2:], []string{"--", "w"}) ||
			slices.Contains(got, "--agent="+c.agent) != (c.agent != "") {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// TestBounded: a coordinator's tasks get what it has, and no more than it may have of them.
func TestBounded(t *testing.T) {
	t.Parallel()
	tasks := &Tasks{&records{c: &op.Caller{}, store: task.OpenStore(t.TempDir()), by: &Coordinator{Workspace: "lead",
		Agent: "claude", Words: []string{"--network=closed"}}}}
	fresh := func() *found { return &found{&task.Task{Name: "x", Tree: task.Tree{Path: "/x"}}, "key"} }
	for _, bad := range []NewRequest{{Include: []string{".env"}}, {WithChanges: true}, {Words: []string{"--network=open"}}} {
		if err := tasks.bounded(fresh(), &bad); err == nil {
			t.Errorf("%+v is let through", bad)
		}
	}
	for agent, want := range map[*NewRequest]bool{
		{Agent: "codex"}: false, {Argv: []string{"codex", "exec"}}: false, {Argv: []string{"/usr/bin/gemini"}}: false, {Agent: "claude"}: true,
		{Argv: []string{"claude"}}: true, {Argv: []string{"make"}}: true, {}: true,
	} {
		if err := tasks.by.mayStart(agentOf(agent)); (err == nil) != want {
			t.Errorf("%+v: %v", agent, err)
		}
	}
	f, r := fresh(), &NewRequest{}
	if err := tasks.bounded(f, r); err != nil || f.Parent != "lead" || r.Agent != "claude" || !slices.Equal(r.Words,
		[]string{"--network=closed"}) {
		t.Errorf("%+v %+v %v", f.Task, r, err)
	}
	r = &NewRequest{Argv: []string{"make"}}
	if err := tasks.bounded(fresh(), r); err != nil || r.Agent != "" {
		t.Errorf("a command: %+v %v", r, err)
	}
	for i := range maxChildren {
		parent := "lead"
		if i == 0 {
			parent = "other"
		}
		if err := tasks.store.Save("key", &task.Task{Name: fmt.Sprint("c", i), Parent: parent, Tree: task.Tree{Path: "/x"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := tasks.bounded(fresh(), &NewRequest{}); err != nil {
		t.Errorf("the eighth: %v", err)
	}
	if err := tasks.store.Save("key", &task.Task{Name: "last", Parent: "lead", Tree: task.Tree{Path: "/x"}}); err != nil {
		t.Fatal(err)
	}
	if err := tasks.bounded(fresh(), &NewRequest{}); err == nil || !strings.Contains(err.Error(), "8 tasks already") {
		t.Errorf("the ninth: %v", err)
	}
}

// TestNotMine: a coordinator finds its own tasks alone, and is told nothing of others.
func TestNotMine(t *testing.T) {
	t.Parallel()
	store := task.OpenStore(t.TempDir())
	for name, parent := range map[string]string{"own": "lead", "theirs": "other", "persons": ""} {
		if err := store.Save("key", &task.Task{Name: name, Parent: parent, Tree: task.Tree{Path: "/x"}}); err != nil {
			t.Fatal(err)
		}
	}
	git, err := task.FindGit(func(string) string { return "" })
	if err != nil {
		t.Skip("there is no git")
	}
	tasks := &Tasks{&records{c: &op.Caller{Dir: t.TempDir()}, git: git, store: store, by: &Coordinator{Workspace: "lead"}}}
	if f, err := tasks.find(t.Context(), "own"); err != nil || f.Name != "own" {
		t.Errorf("its own: %v", err)
	}
	missing := none("theirs").Error()
	for _, name := range []string{"theirs", "persons"} {
		_, err := tasks.find(t.Context(), name)
		if err == nil || err.Error() != strings.ReplaceAll(missing, "theirs", name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	tasks.by = nil
	if _, err := tasks.find(t.Context(), "theirs"); err != nil {
		t.Errorf("a person's look: %v", err)
	}
}

// TestServe: what is no call is refused, whatever it is; a refusal has its fields.
func TestServe(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	c := &op.Caller{Dir: home, Environ: []string{"HOME=" + home, "XDG_STATE_HOME=" + home + "/state", "XDG_RUNTIME_DIR=" + home},
		Ceilings: func() ([]config.CeilingText, error) { return []config.CeilingText{}, nil }}
	serve := Serve(c, Coordinator{Workspace: "lead"})
	ask := func(text string) Answer {
		var a Answer
		if err := json.Unmarshal(serve(t.Context(), []byte(text)), &a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	for text, want := range map[string]string{
		"": "", "{": "", "null": "",
		`{"op":"new","op":"list"}`: "", `{"op":"new","words":["--network=open"]}`: "", `{"op":"new","parent":"x"}`: "",
		`{"op":"open","name":"x"}`: api.CodeUnsupported, `{"op":"rename"}`: api.CodeUnsupported, `{}`: api.CodeUnsupported,
		`{"op":"new","name":"x"}`:    "", // its workspace does not run
		`{"op":"status","name":"x"}`: api.CodeNoTask, `{"op":"wait","names":["x"]}`: codeWaitNone,
	} {
		if a := ask(text); a.Error == nil || want != "" && a.Error.Code != want {
			t.Errorf("%s: %+v", text, a.Error)
		}
	}
	r := &Remote{ask: func(call []byte) ([]byte, error) { return serve(context.Background(), call), nil }}
	if _, err := r.Wait(t.Context(), &WaitRequest{Names: []string{"x"}}); !errors.Is(err, ErrWaitNone) {
		t.Errorf("waiting inside: %v", err)
	}
	var d *api.Denial
	if err := r.Drop(t.Context(), "x", true); !errors.As(err, &d) {
		t.Errorf("a drop: %v", err)
	}
	if _, err := r.New(t.Context(), &NewRequest{Name: "x", Words: []string{"--network=open"}}); err == nil {
		t.Error("flags are taken inside")
	}
}

// FuzzServe: no call breaks what answers, and none is answered with anything but JSON.
func FuzzServe(f *testing.F) {
	f.Add([]byte(`{"op":"status","name":"x"}`))
	f.Add([]byte(`{"op":"new","argv":[{"base64":"/w=="}]}`))
	home := f.TempDir()
	serve := Serve(&op.Caller{Dir: home, Environ: []string{"HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_RUNTIME_DIR=" + home},
		Ceilings: func() ([]config.CeilingText, error) { return []config.CeilingText{}, nil }}, Coordinator{Workspace: "lead"})
	f.Fuzz(func(t *testing.T, text []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if a := serve(ctx, text); !json.Valid(a) {
			t.Errorf("%q: %q", text, a)
		}
	})
}

// TestNameFor: a task without a name gets one of its prompt, and one of its own.
func TestNameFor(t *testing.T) {
	for text, want := range map[string]string{
		"Fix the login test, please!": "fix-the-login-test", "": "", "Übung 1": "bung-1",
		"--force": "force", strings.Repeat("long", 30): strings.Repeat("long", 8)[:30],
	} {
		if got := trimName(text, 4); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if name := trimName(rapid.String().Draw(t, "text"), 4); name != "" && task.CheckName(name) != nil {
			t.Fatalf("%q is no name", name)
		}
	})
}

// TestTexts: words of any bytes are kept.
func TestTexts(t *testing.T) {
	in := []string{"a", "\xff\n", ""}
	text, err := json.Marshal(texts(in))
	var out []api.Text
	if err != nil || json.Unmarshal(text, &out) != nil || !reflect.DeepEqual(words(out), in) {
		t.Errorf("%q: %q, %v", in, out, err)
	}
}

// TestPathOf: worktrees of two repositories of one name are apart, and a bare one has a name.
func TestPathOf(t *testing.T) {
	a, b := task.PathOf("/data", task.Key("/x/repo/.git"), "/x/repo", "n"), task.PathOf("/data", task.Key("/y/repo/.git"), "/y/repo", "n")
	if a == b || filepath.Base(a) != "n" || !strings.HasPrefix(a, "/data/carrel/tasks/repo-") {
		t.Errorf("%s %s", a, b)
	}
	if c := task.PathOf("/data", task.Key("/x/bare/.git"), "/x/bare/.git", "n"); !strings.HasPrefix(c, "/data/carrel/tasks/bare-") {
		t.Error(c)
	}
}

// TestSome: many names are told as a few.
func TestSome(t *testing.T) {
	if got := some([]string{"a"}); got != `["a"]` {
		t.Error(got)
	}
	if got := some(make([]string, 9)); !strings.HasSuffix(got, "and 4 more") {
		t.Error(got)
	}
}

// TestTextOf: an error comes with its text.
func TestTextOf(t *testing.T) {
	failed := errors.New("x")
	if text, err := textOf("a\xff", failed); text != "a\xff" || !errors.Is(err, failed) {
		t.Errorf("%q, %v", text, err)
	}
}

// TestProblem: what a command said is told to its end, and no more than that.
func TestProblem(t *testing.T) {
	for want, s := range map[string]said{
		"git ended with status 1: wrong": {err: " wrong\n", out: "also", status: 1}, "git ended with status 2: said": {out: "said\n", status: 2},
	} {
		if got := s.problem("git").Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	long := said{err: strings.Repeat("x", 2*maxComplain) + "end"}
	if got := long.problem("git").Error(); len(got) > maxComplain+100 || !strings.HasSuffix(got, "end") {
		t.Errorf("%d bytes", len(got))
	}
}
