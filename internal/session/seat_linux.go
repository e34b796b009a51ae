package session

import (
	"context"
	"errors"

	"carrel/internal/api"
	"carrel/internal/clipboard"
	"carrel/internal/gui"
	"carrel/internal/supervisor"
)

// runSeat is that of a workspace that is one command's: there are no apps in it.
type runSeat struct {
	gui.Seat
	ready chan struct{} // closed when its server is known
}

// seatOfRun makes one, nil without a virtual display.
func seatOfRun(desktop *gui.Desktop, clip *clipboard.Clipboard, id string) *runSeat {
	if desktop == nil {
		return nil
	}
	return &runSeat{ready: make(chan struct{}), Seat: gui.Seat{Desktop: desktop, Clipboard: clip, Name: id, Apps: func() map[uint64]string { return nil },
		Label: func(name string) (uint64, error) {
			return 0, api.Refused(api.CodeNoApp, api.OpDesktopSee, name, "this workspace is one command's, and has no apps", "`carrel start NAME` makes one that has")
		}}}
}

// answersTo tells who hears of what happens. It may be called on nil.
func (s *runSeat) answersTo(server *supervisor.Server) {
	if s != nil {
		s.Server = server
		close(s.ready)
	}
}

// Answer implements [supervisor.Desk].
func (s *runSeat) Answer(ctx context.Context, c *supervisor.Call) api.Reply {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return api.Reply{}
	}
	reply, err := s.Do(ctx, c)
	return answered(reply, err, c.Request.Op, s.Name)
}

// Describe implements [supervisor.Desk].
func (s *runSeat) Describe(*api.WorkspaceStatus) {}

// answered makes the last reply of what became of a request.
func answered(reply api.Reply, err error, op, name string) api.Reply {
	if err == nil {
		reply.OK = true
		return reply
	}
	var why *api.Denial
	if !errors.As(err, &why) {
		why = api.Refused(api.CodeRequest, op, name, err.Error(), "")
	}
	reply.OK, reply.Error = false, why
	return reply
}
