package op

import (
	"context"
	"fmt"

	"carrel/internal/api"
	"carrel/internal/named"
	"carrel/internal/statedir"
	"carrel/internal/supervisor"
)

// Desks lists all workspaces with names; what runs is asked itself.
func (c *Caller) Desks(ctx context.Context) ([]api.Desk, error) {
	list, err := named.List(c.State())
	if err != nil {
		return nil, err
	}
	entries, err := c.Running()
	if err != nil {
		return nil, err
	}
	for i := range list {
		for _, e := range entries {
			if e.Name == list[i].Name {
				refresh(ctx, e, &list[i])
			}
		}
	}
	return list, nil
}

// Desk gives one workspace with a name as it is now.
func (c *Caller) Desk(ctx context.Context, name string) (api.Desk, error) {
	if err := named.CheckName(name); err != nil {
		return api.Desk{}, err
	}
	d, err := named.Read(c.State(), name)
	if err != nil {
		return d, err
	}
	d.Paused = statedir.At(c.State()).Pauses().Of(d.Project)
	if e, ok, _ := c.WholeName(name); ok {
		refresh(ctx, e, &d)
	}
	return d, nil
}

// refresh puts in what a running workspace says itself.
func refresh(ctx context.Context, e supervisor.Entry, d *api.Desk) {
	r, err := e.Ask(ctx, api.Request{Op: api.OpStatus})
	if err != nil {
		if d.State = api.StateNoAnswer; !e.Alive() {
			d.State = api.StateStopped
		}
		return
	}
	d.Manifest, d.State, d.Pending, d.Events = e.Manifest, r.Status.State, r.Status.Pending, r.Status.Events
	d.Purpose, d.Profile, d.Policy, d.Digest, d.Ceiling = r.Status.Purpose, r.Status.Profile, r.Status.Policy, r.Status.Digest, r.Status.Ceiling
	d.Paused = r.Status.ProjectPaused
	if r.Status.Control != nil {
		d.Control = *r.Status.Control
	}
	ctx, cancel := context.WithTimeout(ctx, supervisor.AnswerTime)
	defer cancel()
	if apps, err := e.Apps(ctx); err == nil {
		d.Apps = apps
	}
}

// SameCeiling refuses to take away what is left of a workspace that was started under
// another ceiling than the caller's.
func (c *Caller) SameCeiling(operation string, d api.Desk) error {
	u, err := c.Session()
	if err != nil || u.Session == nil {
		return err
	}
	return sameCeiling(u.Hash(), operation, d)
}

// sameCeiling is SameCeiling for a caller that is held to the ceiling of a hash.
func sameCeiling(hash, operation string, d api.Desk) error {
	own, from := "", "none"
	if d.Ceiling != nil && d.Ceiling.Hash != "" {
		own, from = d.Ceiling.Hash, d.Ceiling.Hash+" ("+d.Ceiling.Source+")"
	}
	if own == hash {
		return nil
	}
	return &api.Denial{Code: api.CodeCeiling, Operation: operation, Subject: hash, Rule: "ceiling", Source: from,
		Message: fmt.Sprintf("ceiling: the caller is held to %q, and workspace %q was started under %s", hash, d.Name, from),
		Hint:    "`carrel stop` and `carrel status` work"}
}

// StoppedSame is SameCeiling for a workspace by its name. It lets one pass that is not
// there: the operation that looks for it reports that.
func (c *Caller) StoppedSame(operation, name string) error {
	if named.CheckName(name) != nil {
		return nil
	}
	d, err := named.Read(c.State(), name)
	if err != nil {
		return nil
	}
	return c.SameCeiling(operation, d)
}
