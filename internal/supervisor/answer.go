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

// answer carries one request out and writes the whole answer. ctx ends when
// the caller goes.
func (s *Server) answer(ctx context.Context, conn net.Conn, who caller, req api.Request) {
	if who.inside {
		s.answerInside(conn, who, req)
		return
	}
	var last api.Reply
	if why := s.held(&req); why != nil {
		last = api.Reply{Error: why}
	} else {
		last = s.carriedOut(ctx, conn, who, req)
	}
	// A look may be refused for what is not there, or as its caller went: nothing was decided.
	if last.Error != nil && (!lookOp(req.Op) || last.Error.Code == api.CodeCeiling) {
		s.noteRequest(who, &req, last.Error)
	}
	if err := writeLine(conn, last); errors.Is(err, registry.ErrLine) { // it quotes something long, most likely
		_ = writeLine(conn, refusal(api.CodeRequest, req.Op, s.cfg.ID, "the answer is "+err.Error(), "ask for less"))
	}
}

// carriedOut carries out a request that the ceiling allows, and gives the last reply.
func (s *Server) carriedOut(ctx context.Context, conn net.Conn, who caller, req api.Request) (last api.Reply) {
	switch req.Op {
	case api.OpStatus:
		last = api.Reply{OK: true, Status: s.status()}
	case api.OpStop:
		s.noteRequest(who, &req, nil)
		s.Stop()
		last = api.Reply{OK: true}
	case api.OpPause, api.OpResume:
		last = s.pauseOrResume(ctx, who, req)
	case api.OpProject:
		last = s.project.changed(ctx, req)
	case api.OpControl:
		last = s.controlled(ctx, who, req)
	case api.OpAsk:
		last = s.asked(who, req)
	case api.OpEvents:
		last = s.events(ctx, conn, req)
	case api.OpApprovals:
		last = s.approvals(ctx, conn, req)
	case api.OpApprove, api.OpDeny:
		last = s.decide(ctx, who, req)
	case api.OpWatch:
		last = s.watch(ctx, conn, who, req)
	case api.OpTerms:
		if !s.owns(who) {
			return refusal(api.CodeRequest, req.Op, s.cfg.ID, "only the process that the workspace belongs to sets its terms", "`carrel start --ends-with PID` says which that is")
		}
		last = s.answerDesk(ctx, conn, who, req, looks)
	case api.OpNetAllow, api.OpNetDeny:
		last = s.hosts(who, req)
	case api.OpClipboardSend, api.OpClipboardTake:
		last = s.clipboard(ctx, conn, who, req)
	default:
		if does, ok := deskOps[req.Op]; ok {
			last = s.answerDesk(ctx, conn, who, req, does)
			break
		}
		last = refusal(api.CodeRequest, req.Op, req.Op, fmt.Sprintf("there is no operation %.40q", req.Op), "is the program that runs there another version?")
	}
	return last
}

// answerInside is all that a process behind walls or in a container gets.
func (s *Server) answerInside(conn net.Conn, who caller, req api.Request) {
	reply := refusal(api.CodeInside, req.Op, req.Op, "a process inside walls or a container may only ask for the status", "do it outside, in the namespaces that carrel was started in")
	if req.Op == api.OpStatus {
		reply = api.Reply{OK: true, Status: &api.WorkspaceStatus{ID: s.cfg.ID, State: s.state()}}
	} else {
		s.noteRequest(who, &req, reply.Error)
	}
	_ = writeLine(conn, reply)
}

func (s *Server) status() *api.WorkspaceStatus {
	st := &api.WorkspaceStatus{ID: s.cfg.ID, State: s.state(), Project: s.cfg.Project, Argv: BoundArgv(s.cfg.Argv, maxArgv),
		Persona: s.cfg.Persona, Backend: s.cfg.Backend, Started: s.cfg.Started, Pending: s.queue.len(), Published: s.cfg.Published, Ceiling: s.ceiling()}
	if s.door != nil {
		st.PID = s.door.pid
	}
	if s.cfg.ProjectPaused != nil {
		st.ProjectPaused, _ = s.cfg.ProjectPaused()
	}
	if s.cfg.Desk != nil {
		now := s.control.get()
		st.Name, st.Control, st.Events = s.cfg.Name, &now, s.hub.last()
		s.cfg.Desk.Describe(st)
	}
	return st
}

// controlled changes the mode of a named workspace, or, without one, tells it.
func (s *Server) controlled(ctx context.Context, who caller, req api.Request) api.Reply {
	if s.cfg.Desk == nil {
		return refusal(api.CodeRequest, req.Op, s.cfg.ID, "this workspace is one command's: it can be paused, resumed and stopped", "`carrel start NAME` makes one that stays")
	}
	if req.Mode == "" {
		now := s.control.get()
		return api.Reply{OK: true, Control: &now}
	}
	return s.setControl(ctx, who, req)
}

func (s *Server) pauseOrResume(ctx context.Context, who caller, req api.Request) api.Reply {
	op := req.Op
	if op == api.OpResume {
		if why := s.project.refuses(op); why != nil {
			return api.Reply{Error: why}
		}
	}
	if s.cfg.Desk != nil {
		if req.Mode = api.ControlActive; op == api.OpPause {
			req.Mode = api.ControlPaused
		}
		return s.setControl(ctx, who, req)
	}
	ctx, cancel := context.WithTimeout(ctx, workDeadline)
	defer cancel()
	s.wanted.Store(op == api.OpPause)
	if err := s.change(ctx, op == api.OpPause); err != nil {
		code := api.CodeNotPaused
		if err == errBusy {
			code = api.CodeBusy
		}
		return refusal(code, op, s.cfg.ID, err.Error(), "`carrel stop "+s.cfg.ID+"` works in any case")
	}
	return api.Reply{OK: true, Status: s.status()}
}

// decide takes an answer to an approval. Saying no needs nobody in particular.
func (s *Server) decide(ctx context.Context, who caller, req api.Request) api.Reply {
	waits, ok := s.queue.get(req.ID)
	if !ok {
		return notWaiting(req)
	}
	if req.Op == api.OpApprove && !(waits.Term != "" && s.owns(who)) {
		if why := who.human(s.cfg.Agent); why != nil {
			return api.Reply{Error: why}
		}
	}
	if req.Scope != "" && (req.Op != api.OpApprove || !slices.Contains(waits.Scopes, req.Scope)) {
		return refusal(api.CodeRequest, req.Op, req.ID, fmt.Sprintf("this operation cannot be answered for more than this once, as %.40q", req.Scope), "`carrel approve "+req.ID+"` allows it once")
	}
	if req.Check {
		return api.Reply{OK: true, Approval: &waits}
	}
	if req.Op == api.OpApprove && s.queue.ofControl(req.ID) {
		return s.grantAsked(ctx, who, req)
	}
	how, v := api.AnswerDenied, verdict{by: s.whoIs(who)}
	if req.Op == api.OpApprove {
		how, v.granted, v.scope = api.AnswerApproved, true, req.Scope
	}
	if req.Op == api.OpDeny && req.End && waits.App != "" && s.cfg.Kill != nil {
		s.cfg.Kill(waits.App)
	}
	if !s.queue.take(req.ID, how, v) {
		return notWaiting(req)
	}
	waits.Answer = how
	return api.Reply{OK: true, Approval: &waits}
}

// owns says whether a caller is the process that the workspace belongs to.
func (s *Server) owns(who caller) bool {
	return s.cfg.Owner != nil && !who.inside && who.pid > 0 && s.cfg.Owner(who.pid)
}

// hosts changes the host rules of a workspace that runs. Less than before needs
// nobody in particular, more a person.
func (s *Server) hosts(who caller, req api.Request) api.Reply {
	allow := req.Op == api.OpNetAllow
	if allow {
		if why := who.human(s.cfg.Agent); why != nil {
			why.Operation, why.Hint = req.Op, "type `carrel net allow` yourself, in a terminal of your own outside the workspace"
			return api.Reply{Error: why}
		}
	}
	if s.cfg.Hosts == nil {
		return refusal(api.CodeRequest, req.Op, req.Host, "this workspace has no list of hosts: its network is not filtered", "start it with --network filtered")
	}
	if allow && s.cfg.Refuse != nil {
		if why := s.cfg.Refuse(req.Op); why != nil {
			return api.Reply{Error: why}
		}
	}
	if req.Check {
		return api.Reply{OK: true, Status: s.status()}
	}
	err := s.cfg.Hosts(allow, req.Host)
	if err == nil {
		s.noteRequest(who, &req, nil)
	} else {
		var denied *api.Denial
		if errors.As(err, &denied) {
			return api.Reply{Error: denied}
		}
		return refusal(api.CodeRequest, req.Op, req.Host, err.Error(), "a host, *.host, an address or a range, each with an optional :port")
	}
	return api.Reply{OK: true, Status: s.status()}
}

// clipboard carries something between a person's desktop and the workspace. Both ways
// take a person: what they copied is theirs, and so is what they will paste.
func (s *Server) clipboard(ctx context.Context, conn net.Conn, who caller, req api.Request) api.Reply {
	if why := who.human(s.cfg.Agent); why != nil {
		why.Operation, why.Message = req.Op, "only a person at a terminal may carry a clipboard: "+why.Subject
		why.Rule, why.Hint = "the clipboard needs the human channel", "type `carrel clipboard` yourself, in a terminal of your own outside the workspace"
		return api.Reply{Error: why}
	}
	if s.cfg.Desk != nil && req.Op == api.OpClipboardSend {
		if why := s.blocked(who, req.Op); why != nil {
			return api.Reply{Error: why}
		}
	}
	if req.Check {
		return api.Reply{OK: true}
	}
	if s.cfg.Clipboard == nil {
		return refusal(api.CodeRequest, req.Op, s.cfg.ID, "this workspace has no clipboard", "")
	}
	s.noteRequest(who, &req, nil)
	return s.cfg.Clipboard(ctx, &Call{Request: req, Files: who.files, conn: conn})
}

func notWaiting(req api.Request) api.Reply {
	return refusal(api.CodeNotFound, req.Op, req.ID, fmt.Sprintf("no approval %.40q is waiting: it was answered, or its time is over", req.ID), "`carrel approvals` lists what waits")
}

// events sends what was kept, and with follow what comes, until one side ends.
func (s *Server) events(ctx context.Context, conn net.Conn, req api.Request) api.Reply {
	kept, f := s.hub.subscribe()
	defer s.hub.unsubscribe(f)
	since := req.Since
	if s.cfg.Past != nil && len(kept) > 0 && kept[0].Seq > since+1 {
		err := s.cfg.Past(since, func(e api.Event) error {
			if e.Seq <= since || e.Seq >= kept[0].Seq {
				return nil
			}
			since = e.Seq
			return writeLine(conn, api.Reply{OK: true, More: true, Event: &e})
		})
		if err != nil {
			return refusal(api.CodeRequest, req.Op, s.cfg.ID, err.Error(), "`carrel artifacts` says where the log is")
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
func (s *Server) approvals(ctx context.Context, conn net.Conn, req api.Request) api.Reply {
	if req.ID != "" {
		return s.oneApproval(ctx, conn, req)
	}
	_, f := s.hub.subscribe()
	defer s.hub.unsubscribe(f)
	sent := make(map[string]bool)
	for _, a := range s.queue.list() {
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
