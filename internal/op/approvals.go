package op

import (
	"context"
	"slices"
	"sync"

	"carrel/internal/api"
	"carrel/internal/show"
	"carrel/internal/supervisor"
)

// Waiting asks all workspaces for what waits for a person, and gives it oldest first, with
// the workspaces by their ids.
func (c *Caller) Waiting(ctx context.Context) ([]api.Approval, map[string]supervisor.Entry, error) {
	entries, err := c.Running()
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, supervisor.AnswerTime)
	defer cancel()
	byID := make(map[string]supervisor.Entry)
	list := []api.Approval{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, e := range entries {
		byID[e.ID] = e
		wg.Go(func() {
			err := e.Stream(ctx, api.Request{Op: api.OpApprovals}, func(r api.Reply) error {
				if r.Approval != nil {
					mu.Lock()
					defer mu.Unlock()
					r.Approval.Workspace = e.ID
					list = append(list, *r.Approval)
				}
				return nil
			})
			if err != nil && e.Alive() {
				mu.Lock()
				defer mu.Unlock()
				c.Tell(show.OneLine(err.Error()))
			}
		})
	}
	wg.Wait()
	slices.SortFunc(list, func(x, y api.Approval) int { return x.Asked.Compare(y.Asked) })
	return list, byID, nil
}

// Approval finds what an id or its beginning names, and the workspace that it is of.
func (c *Caller) Approval(ctx context.Context, prefix string) (api.Approval, supervisor.Entry, error) {
	list, byID, err := c.Waiting(ctx)
	if err != nil {
		return api.Approval{}, supervisor.Entry{}, err
	}
	one, err := supervisor.PickApproval(list, prefix)
	if err != nil {
		return one, supervisor.Entry{}, NoSuch("approval", prefix, "carrel approvals", err)
	}
	return one, byID[one.Workspace], nil
}

// Deny says no to what an id or its beginning names, and gives the whole id.
func (c *Caller) Deny(ctx context.Context, prefix string) (string, error) {
	one, e, err := c.Approval(ctx, prefix)
	if err == nil {
		_, err = e.Ask(ctx, api.Request{Op: api.OpDeny, ID: one.ID})
	}
	return one.ID, err
}
