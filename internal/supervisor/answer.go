package supervisor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"carrel/internal/api"
	"carrel/internal/registry"
)

// caller is who sent a request, as far as answering goes.
type caller struct {
	inside bool
	pid    int           // 0 where it is not known
	files  []*os.File    // that came with the request
	lines  *bufio.Reader // what more it says; nil for nothing
	// human says why the caller is not a person at a terminal; nil when it is.
	human func(agent func(Process) string) *api.Denial
}

// answerer answers the requests that come to a workspace by its socket.
type answerer struct{ of *Server }

// answer carries one request out and writes the whole answer. ctx ends when
// the caller goes.
func (a answerer) answer(ctx context.Context, conn net.Conn, who caller, req api.Request) {
	if who.inside {
		a.answerInside(conn, who, req)
		return
	}
	var last api.Reply
	if why := a.of.held(&req); why != nil {
		last = api.Reply{Error: why}
	} else {
		last = a.carriedOut(ctx, conn, who, req)
	}
	// A look may be refused for what is not there, or as its caller went: nothing was decided.
	if last.Error != nil && (!lookOp(req.Op) || last.Error.Code == api.CodeCeiling) {
		a.of.cfg.noteRequest(who, &req, last.Error)
	}
	if err := writeLine(conn, last); errors.Is(err, registry.ErrLine) { // it quotes something long, most likely
		_ = writeLine(conn, refusal(api.CodeRequest, req.Op, a.of.cfg.ID, "the answer is "+err.Error(), "ask for less"))
	}
}

// carriedOut carries out a request that the ceiling allows, and gives the last reply.
func (a answerer) carriedOut(ctx context.Context, conn net.Conn, who caller, req api.Request) (last api.Reply) {
	switch req.Op {
	case api.OpStatus:
		last = api.Reply{OK: true, Status: a.of.status()}
	case api.OpStop:
		a.of.cfg.noteRequest(who, &req, nil)
		a.of.Stop()
		last = api.Reply{OK: true}
	case api.OpPause, api.OpResume:
		last = a.pauseOrResume(ctx, who, req)
	case api.OpProject:
		last = a.of.project.changed(ctx, req)
	case api.OpControl:
		last = a.controlled(ctx, who, req)
	case api.OpAsk:
		last = a.asked(who, req)
	case api.OpEvents:
		last = a.events(ctx, conn, req)
	case api.OpApprovals:
		last = a.approvals(ctx, conn, req)
	case api.OpApprove, api.OpDeny:
		last = a.decide(ctx, who, req)
	case api.OpWatch:
		last = a.watch(ctx, conn, who, req)
	case api.OpAgentState:
		last = a.agentState(req)
	case api.OpTerms:
		if !a.of.cfg.owns(who) {
			return refusal(api.CodeRequest, req.Op, a.of.cfg.ID, "only the process that the workspace belongs to sets its terms",
				"`carrel start --ends-with PID` says which that is")
		}
		last = a.answerDesk(ctx, conn, who, req, looks)
	case api.OpNetAllow, api.OpNetDeny:
		last = a.hosts(who, req)
	case api.OpClipboardSend, api.OpClipboardTake:
		last = a.clipboard(ctx, conn, who, req)
	default:
		if does, ok := deskOps[req.Op]; ok {
			last = a.answerDesk(ctx, conn, who, req, does)
			break
		}
		last = refusal(api.CodeRequest, req.Op, req.Op, fmt.Sprintf("there is no operation %.40q", req.Op), "is the program that runs there another version?")
	}
	return last
}

// answerInside is all that a process behind walls or in a container gets.
func (a answerer) answerInside(conn net.Conn, who caller, req api.Request) {
	reply := refusal(api.CodeInside, req.Op, req.Op, "a process inside walls or a container may only ask for the status", "do it outside, in the namespaces that carrel was started in")
	if req.Op == api.OpStatus {
		reply = api.Reply{OK: true, Status: &api.WorkspaceStatus{ID: a.of.cfg.ID, State: a.of.pauser.state()}}
	} else {
		a.of.cfg.noteRequest(who, &req, reply.Error)
	}
	_ = writeLine(conn, reply)
}

func (s *Server) status() *api.WorkspaceStatus {
	st := &api.WorkspaceStatus{ID: s.cfg.ID, State: s.pauser.state(), Project: s.cfg.Project, Argv: BoundArgv(s.cfg.Argv, maxArgv),
		Persona: s.cfg.Persona, Backend: s.cfg.Backend, Isolation: s.cfg.Isolation, Started: s.cfg.Started, Pending: s.queue.len(), Published: s.cfg.Published, Ceiling: s.ceiling()}
	if s.door != nil {
		st.PID = s.door.pid
	}
	if s.cfg.ProjectPaused != nil {
		st.ProjectPaused, _ = s.cfg.ProjectPaused()
	}
	if s.cfg.Desk != nil {
		now := s.control.get()
		st.AgentState = s.agent.get()
		st.Name, st.Control, st.Events = s.cfg.Name, &now, s.hub.last()
		s.cfg.Desk.Describe(st)
	}
	return st
}

// controlled changes the mode of a named workspace, or, without one, tells it.
func (a answerer) controlled(ctx context.Context, who caller, req api.Request) api.Reply {
	if a.of.cfg.Desk == nil {
		return refusal(api.CodeRequest, req.Op, a.of.cfg.ID, "this workspace is one command's: it can be paused, resumed and stopped", "`carrel start NAME` makes one that stays")
	}
	if req.Mode == "" {
		now := a.of.control.get()
		return api.Reply{OK: true, Control: &now}
	}
	return a.of.setControl(ctx, who, req)
}

func (a answerer) pauseOrResume(ctx context.Context, who caller, req api.Request) api.Reply {
	op := req.Op
	if op == api.OpResume {
		if why := a.of.project.refuses(op); why != nil {
			return api.Reply{Error: why}
		}
	}
	if a.of.cfg.Desk != nil {
		if req.Mode = api.ControlActive; op == api.OpPause {
			req.Mode = api.ControlPaused
		}
		return a.of.setControl(ctx, who, req)
	}
	ctx, cancel := context.WithTimeout(ctx, workDeadline)
	defer cancel()
	a.of.pauser.wanted.Store(op == api.OpPause)
	if err := a.of.pauser.change(ctx, op == api.OpPause); err != nil {
		code := api.CodeNotPaused
		if err == errBusy {
			code = api.CodeBusy
		}
		return refusal(code, op, a.of.cfg.ID, err.Error(), "`carrel stop "+a.of.cfg.ID+"` works in any case")
	}
	return api.Reply{OK: true, Status: a.of.status()}
}

// decide takes an answer to an approval. Saying no needs nobody in particular.
func (a answerer) decide(ctx context.Context, who caller, req api.Request) api.Reply {
	waits, ok := a.of.queue.get(req.ID)
	if !ok {
		return notWaiting(req)
	}
	if req.Op == api.OpApprove && !(waits.Term != "" && a.of.cfg.owns(who)) {
		if why := who.human(a.of.cfg.Agent); why != nil {
			return api.Reply{Error: why}
		}
	}
	if req.Scope != "" && (req.Op != api.OpApprove || !slices.Contains(waits.Scopes, req.Scope)) {
		return refusal(api.CodeRequest, req.Op, req.ID, fmt.Sprintf("this operation cannot be answered for more than this once, as %.40q", req.Scope), "`carrel approve "+req.ID+"` allows it once")
	}
	if req.Check {
		return api.Reply{OK: true, Approval: &waits}
	}
	if req.Op == api.OpApprove && a.of.queue.ofControl(req.ID) {
		return a.grantAsked(ctx, who, req)
	}
	how, v := api.AnswerDenied, verdict{by: a.of.cfg.whoIs(who)}
	if req.Op == api.OpApprove {
		how, v.granted, v.scope = api.AnswerApproved, true, req.Scope
	}
	if req.Op == api.OpDeny && req.End && waits.App != "" && a.of.cfg.Kill != nil {
		a.of.cfg.Kill(waits.App)
	}
	if !a.of.queue.take(req.ID, how, v) {
		return notWaiting(req)
	}
	waits.Answer = how
	return api.Reply{OK: true, Approval: &waits}
}

// owns says whether a caller is the process that the workspace belongs to.
func (c *Config) owns(who caller) bool {
	return c.Owner != nil && !who.inside && who.pid > 0 && c.Owner(who.pid)
}

// hosts changes the host rules of a workspace that runs. Less than before needs
// nobody in particular, more a person.
func (a answerer) hosts(who caller, req api.Request) api.Reply {
	allow := req.Op == api.OpNetAllow
	if allow {
		if why := who.human(a.of.cfg.Agent); why != nil {
			why.Operation, why.Hint = req.Op, "type `carrel net allow` yourself, in a terminal of your own outside the workspace"
			return api.Reply{Error: why}
		}
	}
	if a.of.cfg.Hosts == nil {
		return refusal(api.CodeRequest, req.Op, req.Host, "this workspace has no list of hosts: its network is not filtered", "start it with --network filtered")
	}
	if allow && a.of.cfg.Refuse != nil {
		if why := a.of.cfg.Refuse(req.Op); why != nil {
			return api.Reply{Error: why}
		}
	}
	if req.Check {
		return api.Reply{OK: true, Status: a.of.status()}
	}
	err := a.of.cfg.Hosts(allow, req.Host)
	if err == nil {
		a.of.cfg.noteRequest(who, &req, nil)
	} else {
		var denied *api.Denial
		if errors.As(err, &denied) {
			return api.Reply{Error: denied}
		}
		return refusal(api.CodeRequest, req.Op, req.Host, err.Error(), "a host, *.host, an address or a range, each with an optional :port")
	}
	return api.Reply{OK: true, Status: a.of.status()}
}

// clipboard carries something between a person's desktop and the workspace. Both ways
// take a person: what they copied is theirs, and so is what they will paste.
func (a answerer) clipboard(ctx context.Context, conn net.Conn, who caller, req api.Request) api.Reply {
	if why := who.human(a.of.cfg.Agent); why != nil {
		why.Operation, why.Message = req.Op, "only a person at a terminal may carry a clipboard: "+why.Subject
		why.Rule, why.Hint = "the clipboard needs the human channel", "type `carrel desktop clipboard` yourself, in a terminal of your own outside the workspace"
		return api.Reply{Error: why}
	}
	if a.of.cfg.Desk != nil && req.Op == api.OpClipboardSend {
		if why := a.of.blocked(who, req.Op); why != nil {
			return api.Reply{Error: why}
		}
	}
	if req.Check {
		return api.Reply{OK: true}
	}
	if a.of.cfg.Clipboard == nil {
		return refusal(api.CodeRequest, req.Op, a.of.cfg.ID, "this workspace has no clipboard", "")
	}
	a.of.cfg.noteRequest(who, &req, nil)
	return a.of.cfg.Clipboard(ctx, &Call{Request: req, Files: who.files, conn: conn})
}

func notWaiting(req api.Request) api.Reply {
	return refusal(api.CodeNotFound, req.Op, req.ID, fmt.Sprintf("no approval %.40q is waiting: it was answered, or its time is over", req.ID), "`carrel approvals` lists what waits")
}

// events sends what was kept, and with follow what comes, until one side ends.
func (a answerer) events(ctx context.Context, conn net.Conn, req api.Request) api.Reply {
	kept, f := a.of.hub.subscribe()
	defer a.of.hub.unsubscribe(f)
	since := req.Since
	if a.of.cfg.Past != nil && len(kept) > 0 && kept[0].Seq > since+1 {
		err := a.of.cfg.Past(since, func(e api.Event) error {
			if e.Seq <= since || e.Seq >= kept[0].Seq {
				return nil
			}
			since = e.Seq
			return writeLine(conn, api.Reply{OK: true, More: true, Event: &e})
		})
		if err != nil {
			return refusal(api.CodeRequest, req.Op, a.of.cfg.ID, err.Error(), "`carrel artifacts` says where the log is")
		}
	}
	for i := range kept {
		if kept[i].Seq <= since {
			continue
		}
		if writeLine(conn, api.Reply{OK: true, More: true, Event: &kept[i]}) != nil {
			return api.Reply{}
		}
	}
	if req.Follow {
		f.each(ctx, func(e api.Event) error { return writeLine(conn, api.Reply{OK: true, More: true, Event: &e}) })
	}
	return api.Reply{OK: true}
}

// approvals sends what waits, and with follow each that comes or is answered.
func (a answerer) approvals(ctx context.Context, conn net.Conn, req api.Request) api.Reply {
	if req.ID != "" {
		return a.oneApproval(ctx, conn, req)
	}
	_, f := a.of.hub.subscribe()
	defer a.of.hub.unsubscribe(f)
	sent := make(map[string]bool)
	for _, a := range a.of.queue.list() {
		sent[a.ID] = true
		if writeLine(conn, api.Reply{OK: true, More: true, Approval: &a}) != nil {
			return api.Reply{}
		}
	}
	if req.Follow {
		f.each(ctx, func(e api.Event) error {
			if e.Approval == nil || e.Kind == api.EventAsked && sent[e.Approval.ID] {
				return nil
			}
			delete(sent, e.Approval.ID)
			return writeLine(conn, api.Reply{OK: true, More: true, Approval: e.Approval})
		})
	}
	return api.Reply{OK: true}
}

// each hands events on until the caller or the workspace ends.
func (f *follower) each(ctx context.Context, send func(api.Event) error) {
	for {
		select {
		case e, ok := <-f.events:
			if !ok || send(e) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
