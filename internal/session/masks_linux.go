package session

import (
	"carrel/internal/decide"
	"carrel/internal/remask"
)

// watchMasks begins to keep masked files masked.
func (u *raised) watchMasks(d *decide.Decision) {
	o := remask.Options{
		Project: d.Place.Project, Policy: d.Policy, Mounts: d.Plan.Mounts, Exact: d.AsIs(),
		Stage: u.walls.PID(), Mask: u.walls.Mask, Note: d.Note,
	}
	if b := u.broker; b != nil {
		o.Broker = &remask.Broker{View: b.view, Own: b.own, Hide: b.judge.Hide}
	}
	if u.machine != nil {
		o.Seen = u.machine.Seen
	} else {
		o.Looked = d.Directories
	}
	u.masks = remask.Start(o)
}
