package workspace

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/hostfacts"
	"carrel/internal/inside"
	"carrel/internal/policy"
)

// UnderCeilings says what a request is held to: the ceilings that a surface has read,
// the operator's, and what they say together.
type UnderCeilings struct {
	Session  *policy.Ceiling // of the surface; nil for none
	Operator []*policy.Ceiling
}

// All are all of them.
func (u UnderCeilings) All() []*policy.Ceiling { return slices.Concat(u.Session.All(), u.Operator) }

// Hash names what the surface's ceilings mean together, "" for none.
func (u UnderCeilings) Hash() string { return config.CeilingHash(u.Session) }

// CeilingDenial is the refusal that an error holds, for surfaces that tell it by its
// fields; nil where it is none of a ceiling. It speaks of the first, and its message of all.
func CeilingDenial(op string, err error) *api.Denial {
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
		Message: err.Error(), Hint: "ask for " + r.Allowed + " or less; whoever wrote the ceiling can widen it"}
}

// CheckUndo says why the ceilings do not let callers do something with the history, nil
// where they do. need is policy.UndoPreview to look, policy.UndoAll to change.
func (u UnderCeilings) CheckUndo(op string, need policy.UndoMode) error {
	may := policy.MayUndo(u.All())
	if may.V == policy.UndoAll || may.V == need {
		return nil
	}
	return beyondCeiling(op, policy.DimUndo, string(need), string(may.V), may.Source)
}

// CheckTime refuses what begins after a ceiling has expired.
func (u UnderCeilings) CheckTime(op string, now time.Time) error {
	ends := policy.Ends(u.All())
	if ends == nil || now.Before(ends.V) {
		return nil
	}
	d := beyondCeiling(op, policy.DimExpires, now.Format(time.RFC3339), "nothing since "+ends.V.Format(time.RFC3339), ends.Source)
	d.Message = fmt.Sprintf("expires: %s is asked for at %s, the ceiling %s allowed it until %s", op, now.Format(time.RFC3339), ends.Source, ends.V.Format(time.RFC3339))
	d.Hint = "give a ceiling that holds longer"
	return d
}

// Ceilings gives the ceilings of loaded settings.
func Ceilings(l *config.Loaded) UnderCeilings {
	u := UnderCeilings{Session: l.Ceiling}
	for _, layer := range l.Layers {
		if layer.Ceiling != nil {
			u.Operator = append(u.Operator, layer.Ceiling)
		}
	}
	return u
}

func beyondCeiling(op string, dim policy.Dimension, requested, allowed string, by policy.Source) *api.Denial {
	return &api.Denial{Time: time.Now(), Code: api.CodeCeiling, Operation: op, Subject: requested, Rule: string(dim), Source: by.String(),
		Message: fmt.Sprintf("%s: %s asks for %s, the ceiling %s allows %s", dim, op, requested, by, allowed),
		Hint:    "whoever wrote the ceiling can allow it; no flag, profile or caller can"}
}

// underCeilings are those of this request.
func (p *Prepared) underCeilings() UnderCeilings { return Ceilings(p.Loaded) }

// ceilingTold is what the workspace tells of its ceilings, nil for none.
func (p *Prepared) ceilingTold() *api.Ceiling {
	u := p.underCeilings()
	if len(u.All()) == 0 {
		return nil
	}
	c := &api.Ceiling{Hash: u.Hash(), Source: p.ceilingNames()}
	if ends := policy.Ends(u.All()); ends != nil {
		c.Expires = ends.V
	}
	return c
}

// expiry is where it is said when the ceilings expire, "" where they do not.
func (p *Prepared) expiry() string {
	if ends := policy.Ends(p.underCeilings().All()); ends != nil {
		return ends.Source.String()
	}
	return ""
}

// ceilingNames says where the ceilings come from.
func (p *Prepared) ceilingNames() string {
	var names []string
	for _, f := range p.Loaded.Files {
		if f.Present && f.Kind == config.KindCeiling && !slices.Contains(names, f.Path) {
			names = append(names, f.Path)
		}
	}
	for _, l := range p.Loaded.Layers {
		if l.Ceiling != nil {
			names = append(names, l.Name)
		}
	}
	return strings.Join(names, ", ")
}

// held says why the ceilings refuse a request to the running workspace, nil when they do
// not. The walls hold what is inside in any case; here a caller hears why at once.
func (p *Prepared) held(req *api.Request) *api.Denial {
	switch req.Op {
	case api.OpYield:
		var why *api.Denial
		if err := p.underCeilings().CheckUndo("undo", policy.UndoAll); errors.As(err, &why) {
			return why
		}
	case api.OpDesktopSee, api.OpDesktopDo, api.OpWatch:
		for _, c := range p.underCeilings().All() {
			if c.Display != nil && c.Display.V == policy.DisplayNone {
				return beyondCeiling(req.Op, policy.DimDisplay, "a display", string(c.Display.V), c.Display.Source)
			}
		}
	case api.OpExec, api.OpLaunch, api.OpTerminal:
		if req.Command != nil && len(req.Command.Argv) > 0 {
			return p.mayLaunch(req.Op, req.Command.Argv[0], req.Command.Dir)
		}
	}
	return nil
}

// mayLaunch refuses a program that is not among those that may be started, nil for the
// others. dir is where a relative name starts, "" for the workspace's own directory.
func (p *Prepared) mayLaunch(op, name, dir string) *api.Denial {
	if p.Policy.Programs == nil || name == inside.Dir+"/"+inside.FileHelper { // ours, and the walls let it be started
		return nil
	}
	full, err := p.lookPath(name)
	if err == nil {
		if !filepath.IsAbs(full) && filepath.IsAbs(dir) {
			full = filepath.Join(dir, full)
		}
		if slices.Contains(p.allowed, hostfacts.New().Canonical(p.absolute(full))) {
			return nil
		}
	} else if slices.ContainsFunc(p.Policy.Programs, func(v policy.Value[string]) bool { return v.V == name }) {
		return nil
	}
	r := p.reason(policy.DimPrograms)
	d := beyondCeiling(op, policy.DimPrograms, fmt.Sprintf("%q", name), r.Value, r.Source)
	d.Subject, d.Hint = name, programsHint
	if r.Source.Layer != policy.LayerCeiling && r.Source.Layer != policy.LayerOperator {
		d.Code, d.Message = api.CodeProgram, fmt.Sprintf("%q is not among the programs that may be launched: %s", name, r.Value)
	}
	return d
}
