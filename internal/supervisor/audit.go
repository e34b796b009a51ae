package supervisor

import (
	"fmt"
	"os"
	"strings"

	"carrel/internal/api"
)

// lasting are looks that are written down as what acts is: who sits down at a terminal
// may type there, and an undo has everything stand still.
var lasting = map[string]bool{api.OpAttach: true, api.OpYield: true}

// lookOp says whether a request only looks.
func lookOp(op string) bool {
	switch op {
	case api.OpStatus, api.OpEvents, api.OpApprovals:
		return true
	}
	return deskOps[op] == looks && !lasting[op]
}

// maxNotedArgv bounds what is written down of a command line, in bytes.
const maxNotedArgv = 2 << 10

// audit writes a record down, where that is done at all.
func (c *Config) audit(r api.AuditRecord) {
	if c.Audit != nil {
		c.Audit(r)
	}
}

// noteRequest writes down that a request is carried out, or with why that it was
// refused. Looks that are answered are not noted: an agent asks for its screen several
// times a second, and what it may see is all that is inside.
func (c *Config) noteRequest(who caller, req *api.Request, why *api.Denial) {
	if c.Audit == nil {
		return
	}
	r := api.AuditRecord{Kind: api.AuditRequest, Who: c.whoIs(who), Operation: req.Op, Decision: api.DecisionAllowed}
	r.Subject, r.Detail = subjectOf(req)
	if why != nil { // its message may quote what was typed
		r.Decision, r.Rule, r.Source = api.DecisionRefused, why.Rule, why.Source
		r.Detail = strings.TrimPrefix(r.Detail+", "+why.Code, ", ")
	}
	c.audit(r)
}

// whoIs names a caller.
func (c *Config) whoIs(who caller) api.AuditWho {
	w := api.AuditWho{Kind: api.WhoCaller, PID: who.pid}
	switch {
	case who.inside:
		w.Kind = api.WhoInside
	case c.owns(who):
		w.Kind = api.WhoOwner
	case who.human != nil && who.human(c.Agent) == nil:
		w.Kind = api.WhoPerson
	}
	if who.pid > 0 {
		exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", who.pid))
		w.Program = strings.TrimSuffix(exe, " (deleted)")
	}
	return w
}

// subjectOf says what a request is about: of what is typed, copied or set only how
// much it is, and never variables.
func subjectOf(req *api.Request) (subject, detail string) {
	detail = bounded(req.Reason)
	switch {
	case req.Command != nil:
		return strings.Join(BoundArgv(req.Command.Argv, maxNotedArgv), " "), detail
	case req.Desktop != nil:
		return desktopSubject(req.Desktop)
	case req.Terms != nil:
		return "terms", fmt.Sprintf("deletes %d, overwrites %d, replaces %t", req.Terms.Deletes, req.Terms.Overwrites, req.Terms.Replaces)
	case req.Input != nil:
		return req.App, fmt.Sprintf("%d bytes, %d keys", len(req.Input.Data)+len(req.Input.Text), len(req.Input.Keys))
	}
	for _, one := range []string{req.ID, req.Host, req.Mode, req.App} {
		if one != "" {
			return one, detail
		}
	}
	return "", detail
}

func desktopSubject(d *api.Desktop) (subject, detail string) {
	switch {
	case d.Steps != nil:
		typed := 0
		for _, one := range d.Steps {
			typed += len(one.Text)
		}
		return "steps", fmt.Sprintf("%d steps, %d bytes of text", len(d.Steps), typed)
	case d.Window != nil:
		return "window " + d.Window.Window + " " + d.Window.Do, ""
	case d.Copy != nil:
		return "copy", d.Copy.Type
	case d.Paste != nil:
		return "paste", d.Paste.Type
	case d.Action != nil:
		return "action", fmt.Sprintf("%d bytes", len(d.Action.Input))
	case d.Resize != nil:
		return "resize", fmt.Sprintf("%dx%d", d.Resize[0], d.Resize[1])
	case d.Element != nil:
		return "element " + d.Element.Ref + " " + d.Element.Do, ""
	}
	return "", ""
}

// noteApproval writes down that an operation waits, or how that ended.
func (c *Config) noteApproval(a api.Approval, by api.AuditWho) {
	if c.Audit == nil {
		return
	}
	r := api.AuditRecord{Kind: api.AuditApproval, Who: by, Operation: a.Operation, Subject: a.Subject, Rule: a.Rule, Source: a.Source, Step: a.Step, App: a.App, Decision: a.Answer}
	switch r.Detail = "approval " + a.ID; a.Answer {
	case "":
		r.Decision = api.DecisionAsked
		if a.Reason != "" {
			r.Detail += ": " + a.Reason
		}
	case api.AnswerEnded:
		r.Decision = api.DecisionDenied
		r.Detail += ": the workspace, or who asked, went first"
	}
	if a.ID == "" {
		r.Detail = "nobody was asked: too much waits, or nobody could read it"
	}
	c.audit(r)
}
