package namedcmd

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/named"
	"carrel/internal/op/startop"
	"carrel/internal/statedir"
	"carrel/internal/supervisor"
)

// stopped writes down a workspace that has stopped, with an app that said something and an
// event.
func stopped(t *testing.T, p *clitest.Place, name string) {
	t.Helper()
	if _, err := statedir.Open(p.State); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(p.State+"/workspaces", 0o700); err != nil {
		t.Fatal(err)
	}
	at, err := named.Take(p.State, name)
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	d := &api.Desk{State: api.StateStopped, Purpose: "the search", Apps: []api.App{{ID: "7f00", Name: "server", Kind: api.AppLaunched, Exit: 3,
		Argv: []string{"serve"}}}, Policy: []api.Decided{{Dimension: "network", Value: "local"}}}
	d.Name, d.Project = name, p.Project
	log, err := at.CreateLog("7f00", api.StreamStdout)
	if err != nil {
		t.Fatal(err)
	}
	errors, err := at.CreateLog("7f00", api.StreamStderr)
	if err != nil {
		t.Fatal(err)
	}
	events, err := at.OpenEvents()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []interface{ Write([]byte) (int, error) }{log, errors} {
		if _, err := one.Write([]byte("said\x1b[2J\n")); err != nil {
			t.Fatal(err)
		}
	}
	for seq, text := range []string{"one", "two"} {
		line, err := json.Marshal(api.Event{Seq: uint64(seq + 1), Kind: api.EventLaunch, Text: text})
		if err == nil {
			err = events.Append(uint64(seq+1), line)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, close := range []func() error{log.Close, errors.Close, events.Close} {
		if err := close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := at.KeepManifest(d, true); err != nil {
		t.Fatal(err)
	}
}

// TestAppsOfRunning: an app is waited for, ended and its output printed by its name, and the
// status of a wait is that of the app.
func TestAppsOfRunning(t *testing.T) {
	p := clitest.New(t, Commands())
	w := p.Desk("ab12", "dev")
	w.Reply = api.Reply{OK: true, App: &api.App{ID: "7f00", Name: "server\n", Exit: 3}}
	if r := p.Run("wait dev server"); r.Status != 3 || r.Err != "" || r.Out != "7f00 server\\n: exit 3\n" {
		t.Errorf("%+v", r)
	}
	p.Run("kill dev server").OK("ended 7f00 server\\n\n")
	var one api.App
	if p.Run("kill dev server --json").OK().JSON(&one); one.ID != "7f00" {
		t.Errorf("%+v", one)
	}
	var asked []string
	for _, req := range w.Asked() {
		asked = append(asked, req.Op+" "+req.App)
	}
	if want := []string{"wait server", "kill server", "kill server"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	w.Reply = api.Reply{OK: true, Output: &api.Output{Stream: api.StreamStderr, Data: []byte("x"), Lost: 9}}
	if r := p.Run("logs dev server --tail 5 --stream stderr"); r.Out != "" || r.Notice != "carrel: 9 bytes before this are kept no more\nx" {
		t.Errorf("%+v", r)
	}
	if req := w.Asked(); len(req) != 1 || req[0].Tail != 5 || req[0].Stream != api.StreamStderr {
		t.Errorf("%+v", req)
	}
	w.Reply = api.Reply{Error: &api.Denial{Code: api.CodeNoApp, Message: "no such app"}}
	p.Run("wait dev other").Fails(api.ExitOurs, "no such app")
}

// silent is a workspace that never answers.
type silent struct{}

func (silent) Answer(ctx context.Context, _ *supervisor.Call) api.Reply {
	<-ctx.Done()
	return api.Reply{}
}

func (silent) Describe(*api.WorkspaceStatus) {}

// TestWaitEnds: a wait is given up after its time, with the status that says so.
func TestWaitEnds(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Workspace("ab12", func(c *supervisor.Config) { c.Name, c.Desk = "dev", silent{} })
	p.Run("wait dev server --timeout 20ms").Fails(api.ExitTimeout, "app server still runs after 20ms")
}

// TestStoppedWorkspaces: what a workspace has left is listed and printed after its end, and is
// gone when it was removed.
func TestStoppedWorkspaces(t *testing.T) {
	p := clitest.New(t, Commands())
	stopped(t, p, "dev")
	p.Run("list").OK("dev", "stopped", "the search", p.Project)
	p.Run("status dev").OK("dev", "stopped", "network", "local", "7f00", "exit 3")
	p.Run("apps dev").OK("7f00", "server", "exit 3", "serve")
	var d api.Desk
	if p.Run("manifest dev").OK().JSON(&d); d.Purpose != "the search" || len(d.Apps) != 1 {
		t.Errorf("%+v", d)
	}
	p.Run("artifacts dev").OK("manifest", p.State)
	if r := p.Run("logs dev server").OK("said\x1b[2J\n"); r.Notice != "said\x1b[2J\n" { // no terminal: as it was written
		t.Errorf("%q", r.Notice)
	}
	p.Run("logs dev --stream stdout --tail 3 --json").OK(`"stream":"stdout"`, `"data":"`)
	p.Run("logs dev other").Fails(api.ExitOurs, `no app "other"`, "carrel apps dev")
	p.Run("events dev").OK("one", "two")
	p.Run("events dev --since 1 --json").OK(`"seq":2`).Lacks("one")
	p.Run("kill dev server").Fails(api.ExitOurs, `workspace "dev" does not run`, "carrel start dev")
	before := p.Tree()
	p.Run("cleanup --dry-run").OK("would remove dev: ")
	if p.Tree() != before {
		t.Error("a dry run has removed something")
	}
	stopped(t, p, "other")
	var swept []struct {
		Name    string
		Removed []api.Artifact
	}
	if p.Run("rm dev --json").OK().JSON(&swept); len(swept) != 1 || swept[0].Name != "dev" || len(swept[0].Removed) == 0 {
		t.Errorf("%+v", swept)
	}
	p.Run("status dev").Fails(api.ExitOurs, "dev")
	p.Run("revoke other").OK("removed other: ")
	p.Run("list").OK("no workspace has been started\n")
	if left, err := filepath.Glob(p.State + "/workspaces/*/*"); err != nil || len(left) > 0 {
		t.Errorf("%q, %v", left, err)
	}
}

// freezer counts what is frozen.
type freezer struct{ frozen atomic.Int32 }

func (f *freezer) Freeze() error { f.frozen.Add(1); return nil }
func (f *freezer) Thaw() error   { f.frozen.Add(-1); return nil }

// TestPauseAndResume: a workspace stands still until it is resumed, and says so meanwhile.
func TestPauseAndResume(t *testing.T) {
	p := clitest.New(t, Commands())
	f := &freezer{}
	p.Workspace("ab12", func(c *supervisor.Config) { c.Freezer = f })
	p.Run("pause ab1").OK("paused ab12\n")
	p.Run("ps").OK("ab12", "paused")
	if f.frozen.Load() != 1 {
		t.Error("it is not frozen")
	}
	var done held
	if p.Run("resume ab12 --json").OK().JSON(&done); done != (held{ID: "ab12", Done: "resumed"}) || f.frozen.Load() != 0 {
		t.Errorf("%+v, frozen %d", done, f.frozen.Load())
	}
}

// TestPauseOfProject: all of a project stands still, ps says why, and only a person at a
// terminal ends it.
func TestPauseOfProject(t *testing.T) {
	p := clitest.New(t, Commands())
	if _, err := statedir.Open(p.State); err != nil {
		t.Fatal(err)
	}
	f := &freezer{}
	p.Workspace("ab12", func(c *supervisor.Config) {
		c.Freezer, c.ProjectPaused = f, func() (*api.ProjectPause, error) { return statedir.At(p.State).Pauses().Of(p.Project), nil }
	})
	p.Run("resume --project").OK(p.Project + " was not paused\n")
	p.Words("pause", "--project", "--reason", "I look").OK("paused "+p.Project+": nothing is started there\n", "ab12")
	p.Run("ps").OK("is paused since", "I look")
	if tty, err := os.Open("/dev/tty"); err == nil {
		tty.Close()
	} else {
		p.Run("resume --project").Fails(api.ExitOurs)
	}
	for end := time.Now().Add(10 * time.Second); f.frozen.Load() != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is not frozen")
		}
	}
}

// TestControl: any program may ask for less, and may ask a person for more.
func TestControl(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Desk("ab12", "dev")
	p.Run("control dev").OK("dev active\n")
	p.Words("control", "dev", "read_only", "--reason", "I look").OK("dev read_only\n")
	var c api.Control
	if p.Run("control dev --json").OK().JSON(&c); c.Mode != api.ControlReadOnly || c.Reason != "I look" {
		t.Errorf("%+v", c)
	}
	p.Run("control dev active --ask").OK(" waits: a person types `carrel approve ")
	p.Run("control dev read_only --ask").OK("dev read_only\n") // it is that already
	p.Run("control dev upside_down").Fails(api.ExitOurs, "upside_down")
	if offered := p.Words("__complete", "control", "dev", "").OK(controlWords...); strings.Contains(offered.Out, "ab12") {
		t.Errorf("%s", offered.Out)
	}
}

// TestStart: a dry run says what would be and starts nothing.
func TestStart(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Run("start dev --dry-run --network closed").OK("would start dev\n", "network", "closed", "--network")
	var d api.Desk
	if p.Run("start --dry-run --json").OK().JSON(&d); !strings.HasPrefix(d.Name, "project") || d.State != "would start" || d.Digest == "" {
		t.Errorf("%+v", d)
	}
	if _, err := os.Stat(p.State + "/workspaces/dev"); err == nil {
		t.Error("a dry run has made a workspace")
	}
}

// TestStarted: what was started is told in a line, what has to be known stands beside it, and
// a workspace without walls says so also to programs.
func TestStarted(t *testing.T) {
	s := &startop.Started{}
	s.Status.Name, s.Status.Control = "dev", &api.Control{Mode: api.ControlReadOnly, By: "person", Reason: "look\x1b"}
	s.Announcements, s.Notes = []string{"announced\x1b"}, []string{"noted"}
	for _, c := range []struct {
		already, json, none bool
		out, notice         string
	}{
		{false, false, false, "started dev\n",
			"carrel: announced\\x1b\ncarrel: note: noted\ncarrel: it is under control read_only (person look\\x1b)\n"},
		{true, false, false, "running already: dev\n", "carrel: note: noted"},
		{false, true, false, `"name": "dev"`, ""},
		{false, true, true, `"name": "dev"`, "carrel: announced\\x1b\n"},
	} {
		s.Already, s.Status.Backend = c.already, ""
		if c.none {
			s.Status.Backend = "none"
		}
		var out, notice strings.Builder
		err := tellStarted(&cmdenv.Env{Out: &out, Err: &notice}, s, c.json)
		if err != nil || !strings.Contains(out.String(), c.out) || !strings.Contains(notice.String(), c.notice) ||
			c.notice == "" && notice.Len() > 0 {
			t.Errorf("%+v: %q, %q, %v", c, out.String(), notice.String(), err)
		}
	}
}
