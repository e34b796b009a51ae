package supervisor

import (
	"context"
	"errors"
	"net"

	"carrel/internal/api"
)

// watch lets a viewer of the caller's in as long as the caller stays. Looking is
// allowed in every mode; whoever is no person at a terminal gets no more than that, as
// in a take-over nobody but a person acts.
func (a answerer) watch(ctx context.Context, conn net.Conn, who caller, req api.Request) api.Reply {
	if a.of.cfg.Watch == nil {
		return refusal(api.CodeNoDesktop, req.Op, a.of.cfg.ID, "this workspace has no virtual display", "start it with --display virtual")
	}
	if req.Watch == nil || !req.Follow {
		return refusal(api.CodeRequest, req.Op, a.of.cfg.ID,
			"a watch lasts as long as its caller: the request has to have watch and follow", "")
	}
	a.of.cfg.noteRequest(who, &req, nil)
	acts := a.of.cfg.Desk != nil && !req.Watch.ViewOnly && who.human(a.of.cfg.Agent) == nil
	err := a.of.cfg.Watch(ctx, *req.Watch, acts, func(w api.Watching) error {
		return writeLine(conn, api.Reply{OK: true, More: true, Watching: &w})
	})
	var denied *api.Denial
	if errors.As(err, &denied) {
		return api.Reply{Error: denied}
	}
	if err != nil {
		return refusal(api.CodeRequest, req.Op, a.of.cfg.ID, err.Error(), "")
	}
	return api.Reply{OK: true}
}
