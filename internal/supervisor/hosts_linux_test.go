package supervisor

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"carrel/internal/api"
)

// TestHostsTakeAPerson: more is reached by the word of somebody at a terminal,
// less by anybody's; nothing is changed by a question, or against the policy.
func TestHostsTakeAPerson(t *testing.T) {
	if markedInside(os.Getpid()) {
		t.Skip("the tests themselves run behind walls")
	}
	for _, c := range []struct {
		name, op, want string
		tty, filtered  bool
		refused        error
		changed        string
	}{
		{"a person allows", api.OpNetAllow, "running", true, true, nil, "true a.example:443"},
		{"nobody at a terminal", api.OpNetAllow, "no controlling terminal", false, true, nil, ""},
		{"anybody denies", api.OpNetDeny, "running", false, true, nil, "false a.example:443"},
		{"the ceiling holds", api.OpNetAllow, "ceiling", true, true, &api.Denial{Code: api.CodeCeiling}, "true a.example:443"},
		{"a rule that is none", api.OpNetAllow, "request", true, true, errors.New("no rule"), "true a.example:443"},
		{"no list of hosts", api.OpNetDeny, "request", false, false, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := ""
			config := Config{Agent: robot}
			if c.filtered {
				config.Hosts = func(allow bool, rule string) error {
					changed = map[bool]string{true: "true ", false: "false "}[allow] + rule
					return c.refused
				}
			}
			_, e, _ := serve(t, config)
			cmd := client(e.dir, c.op, "")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if c.tty {
				seat(t, cmd, true)
			}
			if got := said(t, cmd); !strings.Contains(got, c.want) || changed != c.changed {
				t.Errorf("%q, want %q; changed %q, want %q", got, c.want, changed, c.changed)
			}
		})
	}
}

// TestScopes: an operation is approved for what it offers, and the asker is told.
func TestScopes(t *testing.T) {
	s := &Server{hub: newHub("ab12")}
	s.cfg.Hosts = func(bool, string) error { t.Error("a question changed the rules"); return nil }
	s.queue = newQueue("ab12", "", func(api.Event) {})
	person := caller{human: func(func(Process) string) *api.Denial { return nil }}
	if r := (answerer{s}).hosts(person, api.Request{Op: api.OpNetAllow, Host: "x", Check: true}); !r.OK {
		t.Errorf("asked only: %+v", r.Error)
	}
	for _, c := range []struct {
		offered []string
		scope   string
		granted bool
	}{
		{nil, "", true}, {[]string{api.ScopeWorkspace}, "", true}, {[]string{api.ScopeWorkspace}, api.ScopeWorkspace, true},
		{[]string{api.ScopeWorkspace}, api.ScopeAlways, false}, {nil, api.ScopeWorkspace, false},
	} {
		w := s.queue.add(api.Approval{Operation: "connect", Subject: "x", Scopes: c.offered}, soon())
		r := (answerer{s}).decide(context.Background(), person, api.Request{Op: api.OpApprove, ID: w.approval.ID, Scope: c.scope})
		if r.OK != c.granted {
			t.Errorf("%v as %q: %+v", c.offered, c.scope, r)
		}
		if !c.granted {
			s.queue.take(w.approval.ID, api.AnswerDenied, verdict{})
		}
		if v := <-w.answer; v.granted != c.granted || v.granted && v.scope != c.scope || v.granted != (v.how == api.AnswerApproved) {
			t.Errorf("%v as %q: told %+v", c.offered, c.scope, v)
		}
	}
}

// TestPublishedIsTold: the status has what is published, for those outside.
func TestPublishedIsTold(t *testing.T) {
	s := &Server{hub: newHub("ab12"), cfg: Config{Published: []api.Published{{Inside: 3000, Host: 3001}}}}
	s.queue = newQueue("ab12", "", func(api.Event) {})
	if st := s.status(); len(st.Published) != 1 {
		t.Errorf("%+v", st)
	}
	near, far := net.Pipe()
	defer near.Close()
	go (answerer{s}).answer(context.Background(), far, caller{inside: true}, api.Request{Op: api.OpStatus})
	if r, err := readReply(lineReader(near)); err != nil || r.Status == nil || r.Status.Published != nil {
		t.Errorf("inside: %+v, %v", r, err)
	}
}
