// Package ceilings holds requests to the ceilings that a surface and the operator have set: it
// refuses what goes beyond them or comes after their end, and makes refusals of policy's errors.
// It hands ceilings on to another process of ours in a sealed memory file.
package ceilings

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/policy"
)

// Under says what a request is held to: the ceilings that a surface has read,
// the operator's, and what they say together.
type Under struct {
	Session  *policy.Ceiling // of the surface; nil for none
	Operator []*policy.Ceiling
}

// All are all of them.
func (u Under) All() []*policy.Ceiling { return slices.Concat(u.Session.All(), u.Operator) }

// Hash names what the surface's ceilings mean together, "" for none.
func (u Under) Hash() string { return config.CeilingHash(u.Session) }

// Denial is the refusal that an error holds, for surfaces that tell it by its fields; nil
// where it holds none. Of several ceilings its fields are about the first, its message
// about all.
func Denial(op string, err error) *api.Denial {
	var known *api.Denial
	if errors.As(err, &known) {
		return known
	}
	refusals := policy.Refusals(err)
	if len(refusals) == 0 {
		return nil
	}
	r := refusals[0]
	return &api.Denial{Time: time.Now(), Code: api.CodeCeiling, Operation: op, Subject: r.Requested, Rule: string(r.Dimension), Source: r.Source.String(),
		Message: err.Error(), Hint: "ask for " + r.Allowed + " or less; the author of the ceiling can widen it"}
}

// CheckUndo says why the ceilings do not let callers do something with the history, nil
// where they do. need is policy.UndoPreview to look, policy.UndoAll to change.
func (u Under) CheckUndo(op string, need policy.UndoMode) error {
	may := policy.MayUndo(u.All())
	if may.V == policy.UndoAll || may.V == need {
		return nil
	}
	return Beyond(op, policy.DimUndo, string(need), string(may.V), may.Source)
}

// CheckHostCommands refuses host commands under a ceiling that demands an isolation and does not list
// those that may be run: they run on this machine, and what an agent wrote can run in them.
func (u Under) CheckHostCommands(op string) error {
	for _, c := range u.All() {
		if i := c.Isolation; i != nil && i.V != policy.IsolationProcess && len(c.HostCommands) == 0 {
			d := Beyond(op, policy.DimIsolation, string(policy.IsolationProcess), string(i.V), i.Source)
			d.Hint = "host commands run on this machine, behind walls; the author of the ceiling can list in its host_commands which may"
			return d
		}
	}
	return nil
}

// WithoutIsolation is the ceiling without its demand of an isolation, and those beside it without theirs.
func WithoutIsolation(c *policy.Ceiling) *policy.Ceiling {
	if c == nil {
		return nil
	}
	out := *c
	out.Isolation, out.Also = nil, slices.Clone(c.Also)
	for i := range out.Also {
		out.Also[i] = WithoutIsolation(out.Also[i])
	}
	return &out
}

// CheckTime refuses what begins after a ceiling has expired.
func (u Under) CheckTime(op string, now time.Time) error {
	ends := policy.Ends(u.All())
	if ends == nil || now.Before(ends.V) {
		return nil
	}
	d := Beyond(op, policy.DimExpires, now.Format(time.RFC3339), "nothing since "+ends.V.Format(time.RFC3339), ends.Source)
	d.Message = fmt.Sprintf("expires: %s is asked for at %s, the ceiling %s allowed it until %s", op, now.Format(time.RFC3339), ends.Source, ends.V.Format(time.RFC3339))
	d.Hint = "give a ceiling that holds longer"
	return d
}

// Of gives the ceilings of loaded settings.
func Of(l *config.Loaded) Under {
	u := Under{Session: l.Ceiling}
	for _, layer := range l.Layers {
		if layer.Ceiling != nil {
			u.Operator = append(u.Operator, layer.Ceiling)
		}
	}
	return u
}

// Beyond is the refusal of what is asked for and lies beyond a ceiling.
func Beyond(op string, dim policy.Dimension, requested, allowed string, by policy.Source) *api.Denial {
	return &api.Denial{Time: time.Now(), Code: api.CodeCeiling, Operation: op, Subject: requested, Rule: string(dim), Source: by.String(),
		Message: fmt.Sprintf("%s: %s asks for %s, the ceiling %s allows %s", dim, op, requested, by, allowed),
		Hint:    "the author of the ceiling can allow it; no flag, profile or caller can"}
}
