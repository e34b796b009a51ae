package supervisor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/api"
)

// notes keeps what is written down.
type notes struct {
	mu  sync.Mutex
	all []api.AuditRecord
}

func (n *notes) take(r api.AuditRecord) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, r)
}

func (n *notes) lines() (out []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.all {
		out = append(out, strings.Join(strings.Fields(strings.Join([]string{r.Kind, r.Who.Kind, r.Operation, r.Subject, r.Decision}, " ")), " "))
	}
	return out
}

func person() caller { return caller{human: func(func(Process) string) *api.Denial { return nil }} }

// askFor files a request for a mode, as any program may.
func askFor(t *testing.T, e Entry, mode string) api.Approval {
	t.Helper()
	r, err := e.Call(context.Background(), api.Request{Op: api.OpAsk, Mode: mode, Reason: "the tests pass"})
	if err != nil || r.Approval == nil || r.Approval.Answer != "" || r.Approval.ID == "" {
		t.Fatalf("%+v, %v", r, err)
	}
	return *r.Approval
}

// followed waits for the answer, as the asker does.
func followed(t *testing.T, e Entry, id string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := e.Call(ctx, api.Request{Op: api.OpApprovals, ID: id, Follow: true})
	if err != nil || r.Approval == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	return r.Approval.Answer
}

// TestAskedControl: a program asks, and only a person's yes changes the control. Its own
// yes is refused, its no counts.
func TestAskedControl(t *testing.T) {
	for _, c := range []struct {
		name, mode, answer, after string
		do                        func(t *testing.T, s *Server, e Entry, id string)
	}{
		{"a person approves", api.ControlPaused, api.AnswerApproved, api.ControlActive, func(t *testing.T, s *Server, e Entry, id string) {
			if r := (answerer{s}).decide(context.Background(), person(), api.Request{Op: api.OpApprove, ID: id}); !r.OK || r.Control.Mode != api.ControlActive || r.Approval.Answer != api.AnswerApproved {
				t.Errorf("%+v", r)
			}
		}},
		{"the asker approves", api.ControlReadOnly, api.AnswerDenied, api.ControlReadOnly, func(t *testing.T, s *Server, e Entry, id string) {
			var why *api.Denial
			if _, err := e.Call(context.Background(), api.Request{Op: api.OpApprove, ID: id}); !errors.As(err, &why) || why.Code != api.CodeNotHuman {
				t.Errorf("%v", err)
			}
			if _, err := e.Call(context.Background(), api.Request{Op: api.OpDeny, ID: id}); err != nil {
				t.Error(err)
			}
		}},
		{"the control changes meanwhile", api.ControlReadOnly, api.AnswerEnded, api.ControlPaused, func(t *testing.T, s *Server, e Entry, id string) {
			if _, err := e.Call(context.Background(), api.Request{Op: api.OpControl, Mode: api.ControlPaused}); err != nil {
				t.Error(err)
			}
			if r := (answerer{s}).decide(context.Background(), person(), api.Request{Op: api.OpApprove, ID: id}); r.OK {
				t.Error("what was shown before is approved after")
			}
		}},
		{"the workspace ends", api.ControlReadOnly, api.AnswerEnded, api.ControlReadOnly, func(t *testing.T, s *Server, e Entry, id string) { s.queue.close() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, n := &table{}, &notes{}
			waiting := make(chan string, 8)
			s, e, _ := serve(t, Config{Name: "desk", Desk: d, Keep: d.keep, Control: api.Control{Mode: c.mode}, Freezer: &freezer{}, Audit: n.take, Waits: func(a api.Approval) { waiting <- a.ID }})
			<-waiting // what serve asks
			one := askFor(t, e, api.ControlActive)
			if one.Operation != api.OpControl || one.Subject != api.ControlActive || !strings.Contains(one.Reason, "the tests pass") || <-waiting != one.ID {
				t.Errorf("%+v", one)
			}
			if again := askFor(t, e, api.ControlActive); again.ID != one.ID {
				t.Error("the same question twice")
			}
			answer := make(chan string)
			go func() { answer <- followed(t, e, one.ID) }()
			waitFor(t, "a follower", func() bool { s.hub.mu.Lock(); defer s.hub.mu.Unlock(); return len(s.hub.follow) > 0 })
			c.do(t, s, e, one.ID)
			if got := <-answer; got != c.answer {
				t.Errorf("answered %q", got)
			}
			if r, err := e.Call(context.Background(), api.Request{Op: api.OpApprovals, ID: one.ID}); err != nil || r.Approval.Answer != c.answer {
				t.Errorf("later: %+v, %v", r.Approval, err)
			}
			if now := s.control.get().Mode; now != c.after {
				t.Errorf("the mode is %s", now)
			}
			decision := map[string]string{api.AnswerApproved: "approved", api.AnswerDenied: "denied", api.AnswerEnded: "denied"}[c.answer]
			for _, want := range []string{"approval caller control active asked", decision} {
				if !slices.ContainsFunc(n.lines(), func(l string) bool {
					return strings.HasPrefix(l, "approval ") && strings.HasSuffix(l, want)
				}) {
					t.Errorf("%s is not written down: %q", want, n.lines())
				}
			}
		})
	}
}

// TestAskedInVain: nobody answers by the deadline, and it cannot be asked again at once;
// what needs nobody's word, or makes no sense, is not asked.
func TestAskedInVain(t *testing.T) {
	s, e, _, _ := serveDesk(t, api.ControlReadOnly)
	r, err := e.Call(context.Background(), api.Request{Op: api.OpAsk, Mode: api.ControlActive, Within: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got := followed(t, e, r.Approval.ID); got != api.AnswerExpired || s.control.get().Mode != api.ControlReadOnly {
		t.Errorf("%s, %+v", got, s.control.get())
	}
	if r := (answerer{s}).decide(context.Background(), person(), api.Request{Op: api.OpApprove, ID: r.Approval.ID}); r.OK {
		t.Error("approved after the deadline")
	}
	for _, c := range []struct {
		req  api.Request
		code string
	}{
		{api.Request{Mode: api.ControlActive}, api.CodeBusy}, {api.Request{Mode: "open"}, api.CodeRequest}, {api.Request{Mode: api.ControlPaused}, api.CodeRequest},
		{api.Request{Mode: api.ControlActive, Within: -1}, api.CodeRequest}, {api.Request{Mode: api.ControlActive, Within: 1 << 40}, api.CodeRequest},
	} {
		c.req.Op = api.OpAsk
		var why *api.Denial
		if r, err := e.Call(context.Background(), c.req); !errors.As(err, &why) || why.Code != c.code {
			t.Errorf("%+v: %+v, %v, want %s", c.req, r, err, c.code)
		}
	}
	if r, err := e.Call(context.Background(), api.Request{Op: api.OpAsk, Mode: api.ControlReadOnly}); err != nil || r.Approval != nil || r.Control.Mode != api.ControlReadOnly {
		t.Errorf("what holds already: %+v, %v", r, err)
	}
	_, single, _ := serve(t, Config{})
	if _, err := single.Call(context.Background(), api.Request{Op: api.OpAsk, Mode: api.ControlActive}); err == nil {
		t.Error("a single command has no control")
	}
	if _, err := e.Call(context.Background(), api.Request{Op: api.OpApprovals, ID: "nosuch"}); err == nil {
		t.Error("an approval that there never was")
	}
}

// TestWhatIsWrittenDown: requests that act and those that were refused, never what was
// typed or the values of variables; looks are not.
func TestWhatIsWrittenDown(t *testing.T) {
	d, n := &table{}, &notes{}
	full := false
	s, e, _ := serve(t, Config{Name: "desk", Desk: d, Keep: d.keep, Control: api.Control{Mode: api.ControlActive}, Freezer: &freezer{}, Audit: n.take, Refuse: func(op string) *api.Denial {
		if full {
			return refusal(api.CodeAudit, op, "", "the disk is full", "").Error
		}
		return nil
	}})
	call := func(req api.Request) error {
		_, err := e.Call(context.Background(), req)
		return err
	}
	secret := "hunter2-typed"
	_ = call(api.Request{Op: api.OpStatus})
	_ = call(api.Request{Op: api.OpApps})
	_ = call(api.Request{Op: api.OpLaunch, Command: &api.Command{Argv: []string{"make", "all"}, Env: []string{"TOKEN=" + secret}}})
	_ = call(api.Request{Op: api.OpTerminalSend, App: "t", Input: &api.Input{Data: []byte(secret), Text: secret, Keys: []string{"Enter"}}})
	_ = call(api.Request{Op: api.OpDesktopDo, Desktop: &api.Desktop{Steps: []api.DesktopInput{{Do: "type", Text: secret}}}})
	_ = call(api.Request{Op: "nonsense-" + secret})
	_ = call(api.Request{Op: api.OpControl, Mode: api.ControlReadOnly, Reason: "why not"})
	_ = call(api.Request{Op: api.OpKill, App: "x"})
	_ = call(api.Request{Op: api.OpControl, Mode: api.ControlActive})
	full = true
	if err := call(api.Request{Op: api.OpKill, App: "y"}); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("%v", err)
	}
	_ = call(api.Request{Op: api.OpStop})
	got := n.lines()[1:] // the first is of serve
	for i, want := range []string{
		"request caller launch make all allowed", "request caller terminal-send t allowed", "request caller desktop-do steps allowed", "request caller nonsense-" + secret + " refused",
		"control caller control active to read_only allowed", "request caller kill x refused", "request caller control active refused", "request caller kill y refused", "request caller stop allowed",
	} {
		if i >= len(got) || got[i] != want {
			t.Fatalf("%d: want %q in %q", i, want, got)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.all {
		if strings.Contains(r.Subject+r.Detail+r.Rule+r.Source, secret) {
			t.Errorf("what was typed is written down: %+v", r)
		}
		if r.Kind != api.AuditApproval && (r.Who.PID == 0 || r.Who.Program == "") {
			t.Errorf("nobody did it: %+v", r)
		}
	}
	_ = s
}
