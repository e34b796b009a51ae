package jsonapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/op"
	"carrel/internal/op/historyop"
	"carrel/internal/supervisor"
)

// desk is a double of what is in a workspace: it notes what it is asked for, and each command
// says what and ends as the test says.
type desk struct {
	mu    sync.Mutex
	asked []api.Request
	says  []api.Output
	ends  api.App
}

func (d *desk) Answer(_ context.Context, c *supervisor.Call) api.Reply {
	d.mu.Lock()
	d.asked = append(d.asked, c.Request)
	says, app := d.says, d.ends
	d.mu.Unlock()
	app.ID = "c1"
	if c.Request.Op == api.OpExec {
		_ = c.Send(api.Reply{App: &api.App{ID: app.ID, Running: true}})
		for i := range says {
			_ = c.Send(api.Reply{Output: &says[i]})
		}
	}
	return api.Reply{OK: true, App: &app}
}

func (d *desk) Describe(*api.WorkspaceStatus) {}

// begun is a server with a session around a supervisor of this process, with a double for its desk.
type begun struct {
	*Server
	desk *desk
	out  bytes.Buffer
}

func begin(t *testing.T, c supervisor.Config, dirs ...directory) *begun {
	t.Helper()
	b := &begun{desk: &desk{}}
	c.Control.Mode = cmp.Or(c.Control.Mode, api.ControlActive)
	c.ID, c.Name, c.Project, c.Desk = "ab12", "shop", "/p", b.desk
	c.Dirs = []string{t.TempDir() + "/carrel"}
	if err := os.Mkdir(c.Dirs[0], 0o700); err != nil {
		t.Fatal(err)
	}
	up, err := supervisor.Serve(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(up.Close)
	found, err := supervisor.Find(c.Dirs)
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	if b.Server, err = New(Options{Log: io.Discard, Caller: &op.Caller{}}); err != nil {
		t.Fatal(err)
	}
	if len(dirs) == 0 {
		dirs = []directory{{path: "/p"}}
	}
	n := &session{server: b.Server, entry: found[0], dirs: dirs, project: "/p", mode: modeEphemeral, commands: map[string]bool{},
		notes: map[string]bool{}}
	n.ctx, n.end = context.WithCancel(t.Context())
	b.session, b.Server.out = n, newWriter(&b.out)
	return b
}

// ask has one request carried out, and gives its answer and the events until all is done.
func (b *begun) ask(t *testing.T, name, payload string) (answer told, events []told) {
	t.Helper()
	b.out.Reset()
	b.Server.out = newWriter(&b.out)
	b.carryOut(t.Context(), b.ops[name], request{kind: name, id: json.RawMessage("1"), payload: json.RawMessage(payload)})
	b.session.busy.Wait()
	if err := b.Server.out.end(time.Minute); err != nil {
		t.Fatal(err)
	}
	for i, m := range readAll(t, &b.out) {
		if m.Type == "response" {
			if answer = m; i > 0 {
				t.Errorf("%s: %s came before the answer", name, events[0].Type)
			}
			continue
		}
		events = append(events, m)
	}
	return answer, events
}

// TestControlRefusesChanges: under each mode but active, and where the project is paused, the
// requests that change something are refused before they are read, and the others are not.
func TestControlRefusesChanges(t *testing.T) {
	for mode, refuses := range map[string]bool{api.ControlActive: false, "of another version": true, api.ControlReadOnly: true,
		api.ControlTakeover: true, api.ControlPaused: true} {
		b := begin(t, supervisor.Config{Control: api.Control{Mode: mode, Reason: "looking"}})
		for _, o := range Operations() {
			if o.Name == "session.stop" || o.Name == "session.reset" || o.Name == "carrel.pause_project" {
				continue // they end it, or stop other workspaces
			}
			answer, _ := b.ask(t, o.Name, `{"surprise":1}`)
			want := CodeInvalid + " surprise"
			if refuses && o.control.RefusedIn() != nil {
				want = CodeRefused
			}
			// Fields that have to be there are missed first.
			if got := answer.code(); got != want && (want == CodeRefused || !strings.HasPrefix(got, CodeMissing)) {
				t.Errorf("%s under %s: %s, want %s", o.Name, mode, got, want)
			}
		}
		if len(b.desk.asked) > 0 {
			t.Errorf("under %s the workspace was asked: %+v", mode, b.desk.asked)
		}
	}
	b := begin(t, supervisor.Config{ProjectPaused: func() (*api.ProjectPause, error) {
		return &api.ProjectPause{Project: "/p",
			By: "person"}, nil
	}})
	if answer, _ := b.ask(t, "agent.execute", `{"command":"true"}`); answer.code() != CodeRefused || len(b.desk.asked) > 0 {
		t.Errorf("where the project is paused: %+v", answer)
	}
	if answer, _ := b.ask(t, "carrel.approvals", ``); answer.code() != "ok" {
		t.Errorf("looking where the project is paused: %+v", answer)
	}
}

// TestNothingIsAllowedUnderControl: what a safeguard holds is let go on in an active workspace alone, and
// denied in any.
func TestNothingIsAllowedUnderControl(t *testing.T) {
	for mode, refused := range map[string]bool{api.ControlActive: false, api.ControlPaused: true} {
		b := begin(t, supervisor.Config{Control: api.Control{Mode: mode}})
		for action, want := range map[string]string{"allow": CodeRefused, "deny": CodeInvalid + " safeguard_id"} {
			if !refused {
				want = CodeInvalid + " safeguard_id"
			}
			if answer, _ := b.ask(t, "safeguard.confirm", `{"safeguard_id":"a","action":"`+action+`"}`); answer.code() != want {
				t.Errorf("%s under %s: %+v, want %s", action, mode, answer, want)
			}
		}
	}
}

// TestNextSessionIsUnderTheSameControl: a program does not get back by another session what was taken
// from the one before; once a person has given it back, the next one begins free.
func TestNextSessionIsUnderTheSameControl(t *testing.T) {
	held := begin(t, supervisor.Config{Control: api.Control{Mode: api.ControlReadOnly, By: "person", Reason: "looking"}})
	held.session.happened(&api.Event{Kind: api.EventControl})
	for range 2 {
		next := begin(t, supervisor.Config{Keep: func(api.Control) error { return nil }})
		next.Server.control = held.Server.control
		if err := next.keepControl(t.Context(), next.session); err != nil {
			t.Fatal(err)
		}
		r, err := next.session.entry.Call(t.Context(), api.Request{Op: api.OpStatus})
		if err != nil || r.Status.Control.Mode != held.Server.control.Mode || r.Status.Control.Reason != held.Server.control.Reason {
			t.Errorf("%+v, %v, want %+v", r.Status.Control, err, held.Server.control)
		}
		free := begin(t, supervisor.Config{})
		free.Server.control = held.Server.control
		free.session.noteControl(t.Context())
		held.Server.control = free.Server.control
	}
	kept := begin(t, supervisor.Config{})
	kept.Server.control = api.Control{Mode: api.ControlReadOnly}
	kept.session.mode = modePersis // which keeps its control itself
	if kept.session.noteControl(t.Context()); kept.Server.control.Mode != api.ControlReadOnly {
		t.Error("a persistent workspace gives what another one lost")
	}
	if err := kept.keepControl(t.Context(), kept.session); err != nil {
		t.Error(err)
	}
}

// TestRequestsOfSessionAreChecked: what a request says is judged before the workspace is asked.
func TestRequestsOfSessionAreChecked(t *testing.T) {
	b := begin(t, supervisor.Config{}, directory{path: "/p/web", label: "w"}, directory{path: "/q/web"}, directory{path: "/r",
		readOnly: true})
	for request, want := range map[string]string{
		`agent.execute {"command":" \n"}`:                                    CodeInvalid + " command",
		`agent.execute {"command":"a\u0000b"}`:                               CodeInvalid + " command",
		`agent.execute {"command":"x","env":{"A=B":"c"}}`:                    CodeInvalid + " env",
		`agent.execute {"command":"x","env":{"":"c"}}`:                       CodeInvalid + " env",
		`agent.execute {"command":"x","env":{"A":"\u0000"}}`:                 CodeInvalid + " env",
		`agent.prompt {"prompt":" "}`:                                        CodeInvalid + " prompt",
		`agent.prompt {"prompt":"x"}`:                                        CodeInvalid + " session", // it has no agent
		`undo.rollback {"count":0}`:                                          CodeInvalid + " count",
		`undo.rollback {"count":1,"directory":"web"}`:                        CodeInvalid + " directory", // two
		`undo.rollback {"count":1,"directory":3}`:                            CodeInvalid + " directory",
		`undo.rollback {"count":1,"directory":-1}`:                           CodeInvalid + " directory",
		`undo.rollback {"count":1,"directory":""}`:                           CodeInvalid + " directory",
		`undo.rollback {"count":1,"directory":{}}`:                           CodeInvalid + " directory",
		`undo.history {"carrel.limit":-1}`:                                   CodeInvalid + " carrel.limit",
		`carrel.preview {"count":-1}`:                                        CodeInvalid + " count",
		`carrel.redo {"count":-1}`:                                           CodeInvalid + " count",
		`carrel.cancel {"command_id":"none"}`:                                CodeInvalid + " command_id",
		`safeguard.confirm {"safeguard_id":"a","action":"yes"}`:              CodeInvalid + " action",
		`safeguard.confirm {"safeguard_id":"a","action":"deny"}`:             CodeInvalid + " safeguard_id",
		`fs.read {"path":""}`:                                                CodeInvalid + " path",
		`fs.read {"path":"a\u0000"}`:                                         CodeInvalid + " path",
		`fs.read {"path":"../x"}`:                                            CodeOutside + " path",
		`fs.list {"path":"/etc"}`:                                            CodeOutside + " path",
		`fs.list {"path":"/p/webs"}`:                                         CodeOutside + " path",
		`carrel.write {"path":"/r/x","directory":1,"content":""}`:            CodeOutside + " path",
		`carrel.edit {"path":"a/../../x","old_string":"a","new_string":"b"}`: CodeOutside + " path",
		`session.start {}`:                                                   CodeInvalid + " session", // there is one
		`fs.status {}`:                                                       "ok",
		`carrel.approvals {}`:                                                "ok",
	} {
		name, payload, _ := strings.Cut(request, " ")
		if answer, _ := b.ask(t, name, payload); answer.code() != want {
			t.Errorf("%s: %s (%+v), want %s", request, answer.code(), answer.Error, want)
		}
	}
	if len(b.desk.asked) > 0 {
		t.Errorf("the workspace was asked: %+v", b.desk.asked)
	}
}

// TestDirectoriesByName: the ways in which a directory of the session is meant.
func TestDirectoriesByName(t *testing.T) {
	n := &session{dirs: []directory{{path: "/p/web", label: "w"}, {path: "/q/web"}, {path: "/r/1", label: "2"}}}
	for text, want := range map[string]string{
		`0`: "/p/web", `"0"`: "/p/web", `1`: "/q/web", `"w"`: "/p/web", `"/q/web"`: "/q/web", `"2"`: "/r/1", `2`: "/r/1", `"1"`: "/q/web",
		`"web"`: "", `"/x"`: "", `3`: "", `-1`: "", `""`: "", `1.0`: "error", `true`: "error",
	} {
		var name directoryName
		if err := json.Unmarshal([]byte(text), &name); err != nil {
			if want != "error" {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		d, err := n.directory(&name)
		if got := ""; want != "error" {
			if d != nil {
				got = d.path
			}
			if got != want || (err == nil) != (want != "") {
				t.Errorf("%s: %q, %v, want %q", text, got, err, want)
			}
		}
	}
	if d, err := n.directory(nil); d != nil || err != nil {
		t.Errorf("none: %v, %v", d, err)
	}
}

// TestCommandIsToldInOrder: the answer comes first, then what the command says in its order,
// then its end; and its variables and directory are those that were asked for.
func TestCommandIsToldInOrder(t *testing.T) {
	b := begin(t, supervisor.Config{})
	b.desk.says = []api.Output{{Stream: "stdout", Data: []byte("a\xc3")}, {Stream: "stderr", Data: []byte("e")}, {Stream: "stdout",
		Data: []byte("\xa9b"), Lost: 7}, {Stream: "stdout", Data: []byte("\xff")}}
	b.desk.ends = api.App{Exit: 3, Signal: "TERM"}
	answer, events := b.ask(t, "agent.execute", `{"command":"echo x","cwd":"sub/../sub","env":{"B":"2","A":"1=x"}}`)
	if answer.code() != "ok" || string(answer.Payload) != `{"command_id":"c1","status":"started"}` {
		t.Fatalf("%+v %s", answer, answer.Payload)
	}
	var got []string
	for _, e := range events {
		var o output
		var end stepCompleted
		if e.Type == "event.terminal_output" && json.Unmarshal(e.Payload, &o) == nil {
			if o.Encoding == "base64" {
				data, _ := base64.StdEncoding.DecodeString(o.Data)
				o.Data = fmt.Sprintf("%x", data)
			}
			got = append(got, fmt.Sprintf("%s:%s:%d", o.Stream, o.Data, o.Lost))
		} else if e.Type == "event.step_completed" && json.Unmarshal(e.Payload, &end) == nil {
			got = append(got, fmt.Sprintf("end %s %d %s %d %v", end.CommandID, end.ExitCode, end.Signal, end.StepID, end.Affected))
		} else {
			got = append(got, e.Type)
		}
	}
	if want := []string{"stdout:a:0", "stderr:e:0", "stdout:éb:7", "stdout:ff:0", "end c1 3 TERM 0 []"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	c := b.desk.asked[0].Command
	if c.Dir != "/p/sub" || !slices.Equal(c.Env, []string{"A=1=x", "B=2"}) ||
		!slices.Equal(c.Argv[1:], []string{"-c", "echo x"}) || !c.Kept {
		t.Errorf("%+v", c)
	}
	if running := b.session.running(); len(running) > 0 {
		t.Errorf("it still runs: %q", running)
	}
}

// TestTooManyCommands: how many commands run at once is bounded.
func TestTooManyCommands(t *testing.T) {
	b := begin(t, supervisor.Config{})
	for i := range maxCommands {
		b.session.commands[fmt.Sprint(i)] = true
	}
	if answer, _ := b.ask(t, "agent.execute", `{"command":"true"}`); answer.code() != CodeBusy || len(b.desk.asked) > 0 {
		t.Errorf("%+v", answer)
	}
	// One of them can be ended, and the workspace is told which.
	b.desk.ends = api.App{Exit: 143, Signal: "TERM"}
	answer, _ := b.ask(t, "carrel.cancel", `{"command_id":"5"}`)
	if answer.code() != "ok" || string(answer.Payload) != `{"exit_code":143,"signal":"TERM"}` || b.desk.asked[0].App != "5" {
		t.Errorf("%+v %s, asked %+v", answer, answer.Payload, b.desk.asked)
	}
	b.desk.ends = api.App{Running: true}
	if answer, _ := b.ask(t, "carrel.cancel", `{"command_id":"6"}`); answer.code() != CodeBusy {
		t.Errorf("one that does not end: %+v", answer)
	}
}

// TestEventsOfWorkspace: which events a client is told of, and under which names.
func TestEventsOfWorkspace(t *testing.T) {
	b := begin(t, supervisor.Config{})
	b.session.notes["known"] = true
	deadline := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, e := range []api.Event{
		{Kind: api.EventNote, Text: "known"}, {Kind: api.EventNote, Text: "known"},
		{Kind: api.EventAsked, Approval: &api.Approval{ID: "a", Operation: "write", Subject: "/p/x", Deadline: deadline}},
		{Kind: api.EventAsked, Approval: &api.Approval{ID: "b", Term: "delete_threshold", Subject: "/p/y", App: "c1", Deadline: deadline}},
		{Kind: api.EventAsked, Approval: &api.Approval{ID: "c", Source: "safeguards", Subject: "/p/z", Sample: []string{"/p/1", "/p/2"},
			Deadline: deadline}},
		{Kind: api.EventAnswered, Approval: &api.Approval{ID: "a", Answer: "yes", Deadline: deadline}},
		{Kind: api.EventDenial, Denial: &api.Denial{Code: "policy", Subject: "/p/x"}},
		{Kind: api.EventListed, Text: "Makefile"}, {Kind: api.EventStarted}, {Kind: api.EventAsked}, {Kind: api.EventNote, Text: "n", Lost: 4},
	} {
		b.session.happened(&e)
	}
	if err := b.Server.out.end(time.Minute); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range readAll(t, &b.out) {
		var p struct {
			ID, Kind, Message, Code string
			Approval                string   `json:"approval_id"`
			Safeguard               string   `json:"safeguard_id"`
			Sample                  []string `json:"sample_paths"`
			Waiting                 bool
		}
		if err := json.Unmarshal(m.Payload, &p); err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join(strings.Fields(fmt.Sprint(strings.TrimPrefix(m.Type, "event."), " ", p.Approval, p.Safeguard, " ",
			p.Kind, " ", p.Code, " ", p.Message, " ", p.Sample, p.Waiting)), " "))
	}
	want := []string{
		"warning note known [] false", "carrel.approval a [] true", "safeguard_triggered b delete_threshold [/p/y] false",
		"safeguard_triggered c carrel.user [/p/1 /p/2] false",
		"carrel.approval a [] false", "carrel.denial [] false", "warning listed Makefile [] false",
		"warning events_lost 4 events of the workspace are missing here [] false", "warning note n [] false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want\n%q", got, want)
	}
}

// TestWishOfSession: what a session asks for when it starts its workspace.
func TestWishOfSession(t *testing.T) {
	s := &Server{opts: Options{Backend: "process"}}
	s.opts.Start.Read, s.opts.Start.Hosts, s.opts.Start.Network = []string{"/usual"}, []string{"h0"}, "filtered"
	n := &session{server: s, mode: modeEphemeral, dirs: []directory{{path: "/p"}, {path: "/q"}, {path: "/r", readOnly: true}}}
	w := n.wish(startIn{Hosts: []string{"h1"}, Isolation: "kernel"}, "name")
	if !slices.Equal(w.Read, []string{"/usual", "/r"}) || !slices.Equal(w.Write, []string{"/q"}) || !slices.Equal(w.Hosts,
		[]string{"h0", "h1"}) || w.Network != "filtered" || w.Isolation != "kernel" || !w.Passing || w.Owner != os.Getpid() {
		t.Errorf("%+v", w)
	}
	for name, want := range map[string]string{"disabled": "closed", "local_only": "local", "inherit_host": "open", "closed": "closed",
		"filtered": "filtered"} {
		if got := n.wish(startIn{Network: name}, "name").Network; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	// Under a ceiling the project is asked for as well: what is not granted is refused.
	s.opts.Ceiling = "hash"
	n.mode = modePersis
	if w := n.wish(startIn{}, "name"); !slices.Equal(w.Write, []string{"/p", "/q"}) || w.Passing {
		t.Errorf("under a ceiling: %+v", w)
	}
	if got := n.roots(); !slices.Equal(got, []string{"/q"}) {
		t.Errorf("roots: %q", got)
	}
	for dir, want := range map[string]string{"": "/p", "a": "/p/a", "../x": "/x", "/y/../z": "/z"} {
		if got := n.place(dir); got != want {
			t.Errorf("place %q: %s", dir, got)
		}
	}
}

// TestPathsOfAnswers: paths stand once, a rename has both, and a directory that an undo could
// not remove is told apart.
func TestPathsOfAnswers(t *testing.T) {
	dir := t.TempDir()
	there, gone := fmt.Sprintf("%q", dir), fmt.Sprintf("%q", dir+"/gone")
	u := undone{Steps: []uint64{2, 1}, Removed: []json.RawMessage{json.RawMessage(there), json.RawMessage(gone), json.RawMessage(gone),
		json.RawMessage(`{"base64":"/w=="}`)}}
	u.kept()
	out := u.told(3)
	if out.Steps != 2 || out.Crossed != 3 || len(out.Removed) != 2 || len(out.Unrestored) != 1 || out.Unrestored[0]["path"] != dir ||
		out.Restored == nil {
		t.Errorf("%+v", out)
	}
	text, err := json.Marshal(undone{}.told(0))
	if err != nil || strings.Contains(string(text), "null") {
		t.Errorf("%s, %v", text, err)
	}
	step := historyop.Step{Step: 1}
	if got := pathsOf(step); len(got) != 0 {
		t.Errorf("%s", got)
	}
	states := []historyop.Step{{Step: 1, State: "done"}, {Step: 2, State: "undone"}, {Step: 3, State: "interrupted"}, {Step: 4,
		State: "running"}}
	if got := undoable(states); len(got) != 2 || got[0].Step != 1 || got[1].Step != 3 || states[1].Step != 2 {
		t.Errorf("%+v", got)
	}
	want := []string{"/a", dir, dir[:strings.LastIndexByte(dir, '/')]}
	slices.Sort(want)
	if got := parents(undone{Restored: []json.RawMessage{json.RawMessage(`"/a/b"`), json.RawMessage(`"rel/x"`),
		json.RawMessage(`{"base64":"/w=="}`)}, Removed: []json.RawMessage{json.RawMessage(there),
		json.RawMessage(gone)}}); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := compact(json.RawMessage(`"\u0061\/b"`)); got != `"a/b"` {
		t.Errorf("%s", got)
	}
}
