package supervisor

import (
	"context"
	"fmt"
	"net"
	"time"

	"carrel/internal/api"
)

// Bounds of what is asked for from outside.
const (
	askTime  = 5 * time.Minute  // that a person has, where the asker does not say
	askPause = 30 * time.Second // after a no, until the same may be asked again
)

// asked files a change of the control that its caller may not make: a person may
// approve it like any other operation that waits, and without one it is no.
func (a answerer) asked(who caller, req api.Request) api.Reply {
	if a.of.cfg.Desk == nil {
		return refusal(api.CodeRequest, req.Op, a.of.cfg.ID, "this workspace is one command's: it has no control that could be asked for", "`carrel start NAME` makes one that stays")
	}
	to, known := tightness(req.Mode)
	within := time.Duration(req.Within) * time.Second
	switch {
	case !known:
		return refusal(api.CodeRequest, req.Op, req.Mode, fmt.Sprintf("there is no mode %.40q", req.Mode), "active, read_only, takeover or paused")
	case req.Within < 0 || req.Within > int64(maxWait/time.Second):
		return refusal(api.CodeRequest, req.Op, fmt.Sprint(req.Within), fmt.Sprintf("a question of %d seconds", req.Within), fmt.Sprintf("0 for %s, or at most %d", askTime, int(maxWait.Seconds())))
	case req.Within == 0:
		within = askTime
	}
	a.of.control.turn.Lock()
	defer a.of.control.turn.Unlock()
	was := a.of.control.get()
	if now, _ := tightness(was.Mode); was.Mode == req.Mode {
		return api.Reply{OK: true, Control: &was}
	} else if to > now {
		return refusal(api.CodeRequest, req.Op, req.Mode, fmt.Sprintf("from %s to %s takes nobody's word", was.Mode, req.Mode), "`carrel control "+a.of.cfg.Name+" "+req.Mode+"`")
	}
	if there, ok := a.of.queue.wants(req.Mode); ok {
		return api.Reply{OK: true, Approval: &there, Control: &was}
	}
	if time.Since(a.of.queue.inVain(req.Mode)) < askPause {
		return refusal(api.CodeBusy, req.Op, req.Mode, fmt.Sprintf("%s was asked for, and refused or not answered, less than %s ago", req.Mode, askPause), "wait, or talk to the person that it works for")
	}
	by := a.of.cfg.whoIs(who)
	reason := fmt.Sprintf("process %d (%s) asks for it", by.PID, by.Program)
	if req.Reason != "" {
		reason += ", and says: " + bounded(req.Reason)
	}
	w := a.of.queue.put(&waiting{asker: by, wants: req.Mode, approval: api.Approval{Operation: api.OpControl, Subject: req.Mode, Rule: "control " + was.Mode, Source: "set by " + was.By, Reason: reason,
		Hint: "approve to change the control from " + was.Mode + " to " + req.Mode + "; a change of it meanwhile ends the question"}}, time.Now().Add(within))
	if w == nil {
		return refusal(api.CodeBusy, req.Op, req.Mode, "too much waits for a person already, or the workspace is ending", "`carrel approvals` lists what waits")
	}
	go a.of.queue.wait(context.Background(), w) // for the deadline
	return api.Reply{OK: true, Approval: &w.approval, Control: &was}
}

// grantAsked changes the control as a person has approved. That it still waits says
// that the mode is the one that was shown: each change ends what was asked for.
func (a answerer) grantAsked(ctx context.Context, who caller, req api.Request) api.Reply {
	a.of.control.turn.Lock()
	defer a.of.control.turn.Unlock()
	w := a.of.queue.claim(req.ID)
	if w == nil {
		return notWaiting(req)
	}
	by := a.of.cfg.whoIs(who)
	was := a.of.control.get()
	next := api.Control{Mode: w.wants, Since: time.Now(), By: "person", Reason: "approved " + w.approval.ID}
	if err := a.of.carryOut(ctx, was, next); err != nil {
		a.of.queue.finish(w, api.AnswerEnded, verdict{by: by})
		return refusal(api.CodeNotPaused, req.Op, a.of.cfg.ID, err.Error(), "`carrel control "+a.of.cfg.Name+" "+w.wants+"` tries it again")
	}
	a.of.queue.finish(w, api.AnswerApproved, verdict{granted: true, by: by})
	a.of.switched(by, was, next)
	done := w.approval
	done.Answer = api.AnswerApproved
	return api.Reply{OK: true, Approval: &done, Control: &next}
}

// oneApproval tells of one approval, also of one that was answered lately, and with
// follow again when it is.
func (a answerer) oneApproval(ctx context.Context, conn net.Conn, req api.Request) api.Reply {
	_, f := a.of.hub.subscribe()
	defer a.of.hub.unsubscribe(f)
	one, ok := a.of.queue.find(req.ID)
	switch {
	case !ok:
		return refusal(api.CodeNotFound, req.Op, req.ID, fmt.Sprintf("there is no approval %.40q, or it was answered long ago", req.ID), "`carrel approvals` lists what waits, `carrel events` what was answered")
	case one.Answer != "" || !req.Follow:
		return api.Reply{OK: true, Approval: &one}
	}
	if writeLine(conn, api.Reply{OK: true, More: true, Approval: &one}) != nil {
		return api.Reply{}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.each(ctx, func(e api.Event) error {
		if e.Approval != nil && e.Approval.ID == req.ID && e.Approval.Answer != "" {
			one = *e.Approval
			return errEnd
		}
		return nil
	})
	if last, ok := a.of.queue.find(req.ID); ok { // a slow follower may have missed it
		one = last
	}
	return api.Reply{OK: true, Approval: &one}
}
