package jsonapi

import (
	"context"
	"fmt"
	"math"

	"carrel/internal/api"
	"carrel/internal/op"
	"carrel/internal/op/historyop"
)

func safeguardOps() []Operation {
	return []Operation{
		define("safeguard.configure", "Sets what holds a command until a decision. What is not given is off; the user's own safeguards hold beside it.", inOrder, configureSafeguards),
		define("safeguard.confirm", "Answers what is held: allow lets the command go on, deny ends the command and takes its step back.", atOnce, confirm),
	}
}

// wants is what was configured, for all that begin.
type wants struct {
	terms  api.Terms
	setAny bool
}

type safeguardsIn struct {
	Deletes    *int64   `json:"delete_threshold,omitempty" jsonschema:"so many names removed by one command: held before the last of them"`
	Overwrites *int64   `json:"overwrite_file_size_threshold,omitempty" jsonschema:"bytes: a file of that size or more is held before it is opened for writing or replaced"`
	Replaces   bool     `json:"rename_over_existing,omitempty" jsonschema:"a rename over something is held"`
	Timeout    *float64 `json:"timeout_seconds,omitempty" jsonschema:"until no answer is no; 30 by default, at most 3600"`
}

func configureSafeguards(ctx context.Context, c *call, in safeguardsIn) (nothing, error) {
	at := func(v *int64, name string) (int64, error) {
		if v == nil {
			return 0, nil
		}
		if *v < 1 {
			return 0, invalid(name, "%s is 1 or more, or left out; not %d", name, *v)
		}
		return *v, nil
	}
	deletes, err := at(in.Deletes, "delete_threshold")
	if err != nil {
		return nothing{}, err
	}
	overwrites, err := at(in.Overwrites, "overwrite_file_size_threshold")
	if err != nil {
		return nothing{}, err
	}
	within := int64(0)
	if in.Timeout != nil {
		if !(*in.Timeout >= 0.001 && *in.Timeout <= 3600) {
			return nothing{}, invalid("timeout_seconds", "timeout_seconds is 0.001 to 3600, not %v", *in.Timeout)
		}
		within = int64(math.Ceil(*in.Timeout * 1000))
	}
	return nothing{}, c.want(ctx, func(w *wants) {
		w.terms.Deletes, w.terms.Overwrites, w.terms.Replaces, w.terms.Within = deletes, overwrites, in.Replaces, within
	})
}

// want changes what is configured, and sees that it holds in a session that runs.
func (s *Server) want(ctx context.Context, change func(*wants)) error {
	s.mu.Lock()
	before, n := s.wants, s.session
	change(&s.wants)
	s.wants.setAny = true
	s.mu.Unlock()
	if n == nil {
		return nil
	}
	err := s.applyWants(ctx, n)
	if err != nil {
		s.mu.Lock()
		s.wants = before
		s.mu.Unlock()
	}
	return err
}

// applyWants tells the workspace.
func (s *Server) applyWants(ctx context.Context, n *session) error {
	s.mu.Lock()
	w := s.wants
	s.mu.Unlock()
	if !w.setAny {
		return nil
	}
	_, err := n.entry.Call(ctx, api.Request{Op: api.OpTerms, Terms: &w.terms})
	return err
}

type confirmIn struct {
	ID     string `json:"safeguard_id"`
	Action string `json:"action" jsonschema:"allow or deny"`
}

type confirmOut struct {
	RolledBack bool `json:"rolled_back"` // what the step had done is taken back
}

func confirm(ctx context.Context, c *call, in confirmIn) (confirmOut, error) {
	n, err := c.active()
	if err != nil {
		return confirmOut{}, err
	}
	if in.Action != "allow" && in.Action != "deny" {
		return confirmOut{}, invalid("action", "action is allow or deny, not %q", in.Action)
	}
	if in.Action == "allow" { // to deny tightens, and may be done under any control
		if err := c.guard(ctx, &Operation{Name: "safeguard.confirm", control: op.WhenActive}); err != nil {
			return confirmOut{}, err
		}
	}
	list, err := n.waiting(ctx)
	if err != nil {
		return confirmOut{}, err
	}
	for i := range list {
		if list[i].ID != in.ID {
			continue
		}
		if in.Action == "allow" {
			_, err := n.entry.Call(ctx, api.Request{Op: api.OpApprove, ID: in.ID})
			return confirmOut{}, err
		}
		// The command ends before its step is taken back: nothing of it goes on unseen.
		_, err := op.Call(ctx, func() (*historyop.Undone, error) {
			return historyop.DenyAndUndo(context.WithoutCancel(ctx), n.caller, in.ID, func(string) {})
		})
		if err != nil {
			return confirmOut{}, err
		}
		n.outside.hint()
		return confirmOut{RolledBack: true}, nil
	}
	return confirmOut{}, invalid("safeguard_id", "%s", fmt.Sprintf("nothing of the id %.40q waits: it was answered, or its time is over", in.ID))
}
