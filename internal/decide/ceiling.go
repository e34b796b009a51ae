package decide

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"carrel/internal/api"
	"carrel/internal/ceilings"
	"carrel/internal/hostfacts"
	"carrel/internal/inside"
	"carrel/internal/policy"
)

// CeilingRefuses says why the ceilings refuse a request to the running workspace, nil when they do
// not. The walls hold what is inside in any case; here a caller hears why at once.
func (p *startable) CeilingRefuses(req *api.Request) *api.Denial {
	switch req.Op {
	case api.OpYield:
		var why *api.Denial
		if err := ceilings.Of(p.Loaded).CheckUndo("undo", policy.UndoAll); errors.As(err, &why) {
			return why
		}
	case api.OpDesktopSee, api.OpDesktopDo, api.OpWatch:
		for _, c := range ceilings.Of(p.Loaded).All() {
			if c.Display != nil && c.Display.V == policy.DisplayNone {
				return ceilings.Beyond(req.Op, policy.DimDisplay, "a display", string(c.Display.V), c.Display.Source)
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
func (p *startable) mayLaunch(op, name, dir string) *api.Denial {
	if p.Policy.Programs == nil || name == inside.Dir+"/"+inside.FileHelper { // ours, and the walls let it be started
		return nil
	}
	full, err := p.LookPath(name)
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
	r := p.Reason(policy.DimPrograms)
	d := ceilings.Beyond(op, policy.DimPrograms, fmt.Sprintf("%q", name), r.Value, r.Source)
	d.Subject, d.Hint = name, programsHint
	if r.Source.Layer != policy.LayerCeiling && r.Source.Layer != policy.LayerOperator {
		d.Code, d.Message = api.CodeProgram, fmt.Sprintf("%q is not among the programs that may be launched: %s", name, r.Value)
	}
	return d
}
