package op

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"carrel/internal/api"
	"carrel/internal/named"
	"carrel/internal/policy"
	"carrel/internal/statedir"
	"carrel/internal/supervisor"
)

// MayChange refuses what a program asks for in a paused project, for itself or for the
// workspace with the id seenBy. A person may undo there.
func (c *Caller) MayChange(dir, seenBy string) error {
	if seenBy == "" && c.ByAgent() == nil {
		return nil
	}
	project, err := c.ProjectOf(dir)
	if err != nil {
		return err
	}
	if p := statedir.At(c.State()).Pauses().Of(project); p != nil {
		return supervisor.RefusePaused("undo", p)
	}
	return nil
}

// Release has the named workspaces of a project stand still and let go of its history,
// until what it gives is called. One that belongs to a single command holds on: it is
// what comes after this that says so. The workspaces hear the reason.
func (c *Caller) Release(project, reason string) (func(), error) {
	if err := c.MayUndo("undo", policy.UndoAll); err != nil {
		return nil, err
	}
	at, err := c.ProjectOf(project)
	if err != nil {
		return func() {}, nil // what opens the history says it better
	}
	desks, err := named.List(c.State())
	if err != nil {
		return nil, err
	}
	var talks []*supervisor.Conversation
	release := func() {
		for _, t := range talks {
			t.Close()
		}
	}
	for _, d := range desks {
		if d.State == api.StateStopped || d.Project != at {
			continue
		}
		e, ok, err := c.WholeName(d.Name)
		if err != nil || !ok {
			continue // what is in the way is told by what comes after this
		}
		t, err := e.Open(context.Background(), api.Request{Op: api.OpYield, Reason: reason})
		if err == nil {
			talks = append(talks, t)
			_, _, err = t.Next()
		}
		var why *api.Denial
		if errors.As(err, &why) {
			release()
			return nil, fmt.Errorf("workspace %q holds the history: %w", e.Name, err)
		}
		if err != nil && e.Alive() {
			release()
			return nil, err
		}
	}
	return release, nil
}

// maxSighted bounds the paths of one question, in bytes: as base64 they are a line.
const maxSighted = 256 << 10

// Sighted gives a function that asks the running workspace of an id how much it shows of
// paths.
func Sighted(c *Caller, id string) func(paths []string) ([]api.Sight, error) {
	return func(paths []string) (out []api.Sight, err error) {
		entries, err := c.Running()
		i := slices.IndexFunc(entries, func(e supervisor.Entry) bool { return e.ID == id })
		if err == nil && i < 0 {
			err = fmt.Errorf("workspace %q does not run any more", id)
		}
		for err == nil && len(paths) > 0 {
			req, size := api.Request{Op: api.OpSight}, 0
			for len(paths) > 0 && (size == 0 || size+len(paths[0]) < maxSighted) {
				req.Paths, size = append(req.Paths, []byte(paths[0])), size+len(paths[0])+1
				paths = paths[1:]
			}
			var r api.Reply
			r, err = entries[i].Ask(context.Background(), req)
			out = append(out, []api.Sight(r.Sights)...)
		}
		return out, err
	}
}
