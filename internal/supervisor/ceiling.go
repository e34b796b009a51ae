package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"carrel/internal/api"
)

// afterEnd are the operations that a workspace still answers when its ceiling has
// expired: looking, stopping, and what takes from what may be done. Control is judged
// by the mode that is asked for.
var afterEnd = map[string]bool{
	api.OpSight:  true,
	api.OpStatus: true, api.OpStop: true, api.OpEvents: true, api.OpApprovals: true, api.OpApps: true, api.OpWait: true, api.OpLogs: true,
	api.OpTerminalRead: true, api.OpAttach: true, api.OpDesktopSee: true, api.OpWatch: true,
	api.OpDeny: true, api.OpNetDeny: true, api.OpPause: true, api.OpControl: true,
}

// Expired says why nothing more may be done, nil as long as the ceiling holds.
func (s *Server) Expired(op string) *api.Denial {
	if s == nil {
		return nil
	}
	return s.over(op)
}

// held says why the ceiling refuses a request, nil when it does not. Status, stop and a look
// at the project are never refused.
func (s *Server) held(req *api.Request) *api.Denial {
	if req.Op == api.OpStatus || req.Op == api.OpStop || req.Op == api.OpProject { // the state directory decides that one
		return nil
	}
	why := s.cfg.otherCeiling(req)
	if why == nil && !afterEnd[req.Op] {
		why = s.over(req.Op)
	}
	if why == nil && s.cfg.Held != nil {
		why = s.cfg.Held(req)
	}
	if why != nil {
		s.hub.emit(api.Event{Kind: api.EventHeld, Text: bounded(req.Op), Denial: why})
	}
	return why
}

// maxHash bounds what is quoted of a caller's hash, in bytes.
const maxHash = 80

// otherCeiling refuses a caller that is held to another ceiling than the workspace.
func (c *Config) otherCeiling(req *api.Request) *api.Denial {
	own, from := "", "none"
	if c := c.Ceiling; c != nil && c.Hash != "" {
		own, from = c.Hash, c.Hash+" ("+c.Source+")"
	}
	if req.Ceiling == "" || req.Ceiling == own {
		return nil
	}
	theirs := req.Ceiling[:min(len(req.Ceiling), maxHash)]
	return &api.Denial{Code: api.CodeCeiling, Operation: bounded(req.Op), Subject: theirs, Rule: "ceiling", Source: from,
		Message: fmt.Sprintf("ceiling: the caller is held to %q, and this workspace was started under %s", theirs, from),
		Hint:    "`carrel stop` works; a workspace that is started under the caller's ceiling answers it"}
}

// over refuses an operation when the ceiling has expired.
func (s *Server) over(op string) *api.Denial {
	c := s.cfg.Ceiling
	if c == nil || c.Expires.IsZero() {
		return nil
	}
	if !s.expired.Load() && time.Now().Before(c.Expires) {
		return nil
	}
	s.expired.Store(true) // a clock that goes back changes nothing
	return &api.Denial{Code: api.CodeCeiling, Operation: bounded(op), Subject: time.Now().Format(time.RFC3339), Rule: "expires", Source: s.cfg.Expiry,
		Message: fmt.Sprintf("expires: %s is asked for at %s, the ceiling %s allowed it until %s", op, time.Now().Format(time.RFC3339), s.cfg.Expiry, c.Expires.Format(time.RFC3339)),
		Hint:    "looking, tightening the control, and `carrel stop`, still work; start a workspace anew under a ceiling that holds longer"}
}

// ceiling is what is told of it, nil for none.
func (s *Server) ceiling() *api.Ceiling {
	if s.cfg.Ceiling == nil {
		return nil
	}
	c := *s.cfg.Ceiling
	c.Expired = s.over(api.OpStatus) != nil
	return &c
}

// clockEye is how often the clock is looked at, as it may be set, or stand still while
// the machine sleeps.
const clockEye = 15 * time.Second

// expireInTime pauses the workspace at the moment at which its ceiling expires.
func (s *Server) expireInTime() {
	c := s.cfg.Ceiling
	if c == nil || c.Expires.IsZero() {
		return
	}
	go func() {
		for {
			left := time.Until(c.Expires.Round(0))
			if left <= 0 || s.expired.Load() {
				s.expire()
				return
			}
			select {
			case <-s.ended:
				return
			case <-time.After(min(left, clockEye)):
			}
		}
	}()
}

// freezeTries is how often it is tried to pause what has to be.
const freezeTries = 3

// expire pauses it for good: only Stop lets it go on, to end. What cannot be paused is
// stopped.
func (s *Server) expire() {
	s.expired.Store(true)
	why := s.over("going on")
	s.hub.emit(api.Event{Kind: api.EventExpired, Text: why.Message})
	if s.cfg.Denied != nil {
		s.cfg.Denied(*why)
	}
	if s.cfg.Controlled != nil { // what acts on a display without a request of ours
		s.control.turn.Lock()
		s.cfg.Controlled(api.ControlPaused)
		s.control.turn.Unlock()
	}
	var err error
	for range freezeTries {
		ctx, cancel := context.WithTimeout(context.Background(), workDeadline)
		err = s.Pause(ctx)
		if cancel(); err == nil || errors.Is(err, errEnding) {
			return
		}
		if errors.Is(err, errNoFreeze) {
			break
		}
	}
	s.hub.emit(api.Event{Kind: api.EventNote, Text: "the ceiling has expired, and this workspace cannot be paused (" + err.Error() + "): it is ended"})
	s.Stop()
}
