package session

import (
	"carrel/internal/remask"
	"carrel/internal/sandbox"
)

// watchMasks begins to keep masked files masked; nil where there is nothing to watch.
func (s *Session) watchMasks(walls *sandbox.Walls, b *brokered) *remask.Watch {
	o := remask.Options{
		Project: s.Place.Project, Policy: s.Policy, Mounts: s.Plan.Mounts, Exact: s.AsIs(),
		Stage: walls.PID(), Mask: walls.Mask, Note: s.Note,
	}
	if b != nil {
		o.Broker = &remask.Broker{View: b.view, Own: b.own, Hide: b.judge.Hide}
	}
	return remask.Start(o)
}
