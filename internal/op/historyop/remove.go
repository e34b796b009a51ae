package historyop

import (
	"errors"

	"carrel/internal/history"
	"carrel/internal/op"
	"carrel/internal/projecthistory"
	"carrel/internal/stepview"
)

// DiscardRequest asks for steps to be removed for good.
type DiscardRequest struct {
	Of
	Steps  []string // these
	Before string   // all before this one; "" for none
	All    bool     // all, and what cannot be read
	DryRun bool     // remove nothing

	// Ask, unless nil, is asked before anything is removed, with what that would be.
	Ask func(project string, would *Removed) error
}

// Discard removes steps. Only a person or their script may, and no agent.
func Discard(c *op.Caller, in DiscardRequest) (*Removed, error) {
	if err := op.NoZeroBytes("discard", append([]string{in.Before}, in.Steps...)...); err != nil {
		return nil, err
	}
	h, err := Open(c, in.Of)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	steps, err := in.steps(h)
	if err != nil {
		return nil, err
	}
	if !in.DryRun && in.Ask != nil {
		would, err := h.Discard(steps, in.All, true)
		if err != nil {
			return nil, busy(err)
		}
		if err := in.Ask(h.Project, removed(would, true)); err != nil {
			return nil, err
		}
	}
	if why := c.ByAgent(); why != nil && !in.DryRun {
		why.Operation, why.Message = "discard", "only a person or their script may discard steps: "+why.Subject
		why.Hint = "type `carrel discard` yourself, in a terminal of your own outside the workspace"
		return nil, why
	}
	if !in.DryRun {
		release, err := c.Release(in.Project, "carrel discard")
		if err != nil {
			return nil, err
		}
		defer release()
	}
	r, err := h.Discard(steps, in.All, in.DryRun)
	return removed(r, in.DryRun), busy(err)
}

// steps finds out which steps are meant.
func (in *DiscardRequest) steps(h *projecthistory.History) ([]uint64, error) {
	if len(in.Steps) == 0 && in.Before == "" && !in.All {
		return nil, errors.New("want the steps that are discarded, --before STEP or --all; `carrel history --all` lists them")
	}
	if len(in.Steps) > 0 && (in.Before != "" || in.All) {
		return nil, errors.New("steps and --before or --all: want one of them")
	}
	var out []uint64
	if in.Before != "" {
		first, err := Numbered(h, in.Before)
		if err != nil {
			return nil, err
		}
		for _, family := range h.Log.Families() {
			if family.Number() < first.Number {
				out = append(out, family.Number())
			}
		}
		return out, nil
	}
	for _, name := range in.Steps {
		s, err := Numbered(h, name)
		if err != nil {
			return nil, err
		}
		out = append(out, s.Number)
	}
	return out, nil
}

// Collect removes what nothing refers to, and the oldest steps beyond the limits.
func Collect(c *op.Caller, of Of, dry bool) (*Removed, error) {
	h, err := Open(c, of)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	req, err := Request(c, of.Project)
	if err != nil {
		return nil, err
	}
	r, err := h.Collect(req, dry)
	return removed(r, dry), busy(err)
}

// removed tells of a removal, nil of none.
func removed(r *history.Removal, dry bool) *Removed {
	if r == nil {
		return nil
	}
	told := stepview.RemovalOf(r, dry)
	return &told
}
