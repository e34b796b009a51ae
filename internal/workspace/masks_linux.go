package workspace

import (
	"carrel/internal/remask"
	"carrel/internal/sandbox"
)

// watchMasks begins to keep masked files masked; nil where there is nothing to watch.
func (p *Prepared) watchMasks(walls *sandbox.Walls, b *brokered) *remask.Watch {
	o := remask.Options{
		Project: p.place.Project, Policy: p.Policy, Mounts: p.Plan.Mounts, Exact: p.asIs(),
		Stage: walls.PID(), Mask: walls.Mask, Note: p.note,
	}
	if b != nil {
		o.Broker = &remask.Broker{View: b.view, Own: b.own, Hide: b.judge.Hide}
	}
	return remask.Start(o)
}
