package supervisor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"carrel/internal/api"
)

// control is who may do what with a named workspace. What was asked for is written
// down before it is looser than it was, and after it is tighter: a crash in between
// leaves the tighter one.
type control struct {
	turn sync.Mutex // held while it changes
	mu   sync.Mutex
	now  api.Control
}

// tightness orders the modes: anybody may go up, only a person down or across.
func tightness(mode string) (int, bool) {
	switch mode {
	case api.ControlActive:
		return 0, true
	case api.ControlReadOnly, api.ControlTakeover:
		return 1, true
	case api.ControlPaused:
		return 2, true
	}
	return 0, false
}

// Looser says whether only a person may go from one mode to the other.
func Looser(from, to string) bool {
	was, _ := tightness(from)
	now, _ := tightness(to)
	return from != to && now <= was
}

func (c *control) get() api.Control {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *control) set(now api.Control) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// Control is what holds now.
func (s *Server) Control() api.Control { return s.control.get() }

// setControl changes the mode for a caller.
func (s *Server) setControl(ctx context.Context, who caller, req api.Request) api.Reply {
	to, known := tightness(req.Mode)
	if !known {
		return refusal(api.CodeRequest, req.Op, req.Mode, fmt.Sprintf("there is no mode %.40q", req.Mode), "active, read_only, takeover or paused")
	}
	s.control.turn.Lock()
	defer s.control.turn.Unlock()
	was := s.control.get()
	if was.Mode == req.Mode {
		return api.Reply{OK: true, Control: &was}
	}
	by := "caller"
	now, _ := tightness(was.Mode)
	if why := who.human(s.cfg.Agent); why == nil {
		by = "person"
	} else if to <= now {
		why.Operation, why.Message = req.Op, fmt.Sprintf("only a person at a terminal may change %s into %s: %s", was.Mode, req.Mode, why.Subject)
		why.Rule, why.Hint = "less control needs the human channel", "type `carrel control "+s.cfg.Name+" "+req.Mode+"` yourself, in a terminal of your own outside the workspace"
		return api.Reply{Error: why}
	}
	if to <= now {
		if why := s.over(req.Op); why != nil {
			return api.Reply{Error: why}
		}
		if why := s.project.refuses(req.Op); why != nil {
			return api.Reply{Error: why}
		}
	}
	if req.Check {
		return api.Reply{OK: true, Control: &was}
	}
	next := api.Control{Mode: req.Mode, Since: time.Now(), By: by, Reason: bounded(req.Reason)}
	if err := s.carryOut(ctx, was, next); err != nil {
		return refusal(api.CodeNotPaused, req.Op, s.cfg.ID, err.Error(), "`carrel stop "+s.cfg.Name+"` works in any case")
	}
	s.switched(s.cfg.whoIs(who), was, next)
	return api.Reply{OK: true, Control: &next, Status: s.status()}
}

// switched tells of a change that was carried out, and ends what was asked for before.
func (s *Server) switched(by api.AuditWho, was, next api.Control) {
	s.hub.emit(api.Event{Kind: api.EventControl, Text: next.Mode + " by " + next.By})
	s.cfg.audit(api.AuditRecord{Kind: api.AuditControl, Who: by, Operation: api.OpControl, Subject: was.Mode + " to " + next.Mode, Decision: api.DecisionAllowed, Detail: next.Reason})
	s.queue.dropWanted()
}

// Tighten takes from what may be done, for whoever asks.
func (s *Server) Tighten(ctx context.Context, mode, reason string) error {
	nobody := func(func(Process) string) *api.Denial { return refuseHuman("it is inside") }
	if r := s.setControl(ctx, caller{inside: true, human: nobody}, api.Request{Op: api.OpControl, Mode: mode, Reason: reason}); r.Error != nil {
		return r.Error
	}
	return nil
}

// carryOut carries a change of the mode out.
func (s *Server) carryOut(ctx context.Context, was, next api.Control) error {
	ctx, cancel := context.WithTimeout(ctx, workDeadline)
	defer cancel()
	to, _ := tightness(next.Mode)
	from, _ := tightness(was.Mode)
	if to > from {
		s.setMode(next)
		var frozen error
		if next.Mode == api.ControlPaused {
			s.pauser.wanted.Store(true)
			if frozen = s.pauser.change(ctx, true); frozen != nil {
				frozen = fmt.Errorf("requests are refused from now on, but not every process could be frozen: %w", frozen)
			}
		}
		kept := s.cfg.Keep(next)
		if kept != nil {
			kept = fmt.Errorf("it holds from now on, but a later start would not know: %w", kept)
		}
		return errors.Join(frozen, kept)
	}
	if err := s.cfg.Keep(next); err != nil {
		return fmt.Errorf("it stays %s, as it could not be written down: %w", was.Mode, err)
	}
	if was.Mode == api.ControlPaused {
		s.pauser.wanted.Store(false)
		if err := s.pauser.change(ctx, false); err != nil {
			return fmt.Errorf("it stays paused: %w", err)
		}
	}
	s.setMode(next)
	return nil
}

// setMode makes a mode the one that holds, and tells of it.
func (s *Server) setMode(now api.Control) {
	s.control.set(now)
	if s.cfg.Controlled == nil {
		return
	}
	mode := now.Mode
	if s.expired.Load() || s.project.paused.Load() { // tightened is not let go on: a take-over would let a viewer type
		mode = api.ControlPaused
	}
	s.cfg.Controlled(mode)
}

// maxReason bounds what a caller says about a change, in bytes.
const maxReason = 512

func bounded(text string) string { return text[:min(len(text), maxReason)] }

// blocked says why a request that does something is refused now, nil when it is not.
func (s *Server) blocked(who caller, op string) *api.Denial {
	if why := s.over(op); why != nil {
		return why
	}
	if s.cfg.Refuse != nil {
		if why := s.cfg.Refuse(op); why != nil {
			return why
		}
	}
	if why := s.project.refuses(op); why != nil {
		s.hub.emit(api.Event{Kind: api.EventBlocked, Text: op + " while the project is paused"})
		return why
	}
	now := s.control.get()
	if s.cfg.Desk == nil && s.Paused() { // the one mode that a single command's has
		now.Mode, now.By = api.ControlPaused, "person"
	}
	switch now.Mode {
	case api.ControlActive:
		return nil
	case "":
		if s.cfg.Desk == nil {
			return nil
		}
	case api.ControlTakeover:
		if who.human(s.cfg.Agent) == nil {
			return nil
		}
	}
	s.hub.emit(api.Event{Kind: api.EventBlocked, Text: op + " while " + now.Mode})
	return &api.Denial{Code: api.CodeControl, Operation: op, Subject: s.cfg.Name, Rule: "control " + now.Mode, Source: "set by " + now.By,
		Message: fmt.Sprintf("the workspace is under control %s: %s is refused", now.Mode, op),
		Hint:    "the person it works for types `carrel control " + s.cfg.Name + " active`; looking, and `carrel stop`, work in every mode"}
}
