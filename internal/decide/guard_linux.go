package decide

import (
	"path"
	"slices"

	"carrel/internal/api"
	"carrel/internal/broker"
	"carrel/internal/guard"
	"carrel/internal/hostfacts"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/protectednames"
	"carrel/internal/remask"
	"carrel/internal/sandbox"
)

// Guards is what the changes of this run are decided by; own are the files of secrets that
// it has made, nil for none.
func (p *Decision) Guards(own *remask.OwnFiles) guard.Config {
	program := p.Reason(policy.DimPrograms)
	c := guard.Config{
		Policy: p.Policy, Project: p.Place.Project, Git: p.Place.Git, Roots: p.Plan.Roots, Write: p.Guarded.Write, Guarded: p.Guarded.Rules,
		Named: p.Guarded.Named, Trees: protectednames.OtherTrees(&p.Place), Seconds: secondNames(p), Configs: p.isGitConfig, Passwords: p.Passwords(), Secrets: uncovered(p), Exact: p.AsIs(),
		Starts:   p.Plan.Landlock.Execute,
		Programs: broker.Verdict{Rule: "programs.allow: " + program.Value, Source: program.Source.String(), Hint: programsHint},
		Strict:   p.strictSecrets(), MadeInside: own.Is,
	}
	if self, err := hostfacts.OwnProgram(); err == nil {
		// One that is not there is made by nothing inside.
		c.Guarded = slices.Concat(c.Guarded, hostfacts.OwnProgramRules(p.Policy, self))
	}
	c.Mounts = p.MountSources()
	if p.State != nil {
		c.State, c.Private = p.State.Root(), p.State.Has
	}
	return c
}

// uncovered are the files of secrets in the project that only commands see a mask on.
func uncovered(p *Decision) (all []string) {
	for _, m := range p.Plan.Mounts {
		if m.Kind == sandbox.MountMask && m.Bare {
			all = append(all, m.Target)
		}
	}
	return all
}

// Sight says how much of a path these walls show. It is the one answer for whatever tells
// of former contents: those count as what is at their path now. own are the files of secrets
// that were made inside, nil for none.
func (p *Decision) Sight(own *remask.OwnFiles, at string) api.Sight {
	switch {
	case p.shows(own, at):
		return api.SightRead
	case p.shows(own, path.Dir(at)):
		return api.SightName
	}
	return api.SightNone
}

// shows says whether commands find the host's own at a path, and may read it.
func (p *Decision) shows(own *remask.OwnFiles, at string) bool {
	if p.NoWalls() {
		return true
	}
	d := p.Policy.Lookup(at)
	repository := d.Access == policy.Unset && slices.ContainsFunc(p.Guarded.Write, func(dir string) bool { return pathname.Within(at, dir) })
	switch {
	case d.Access != policy.Read && d.Access != policy.Write && !repository:
		return false
	case !p.AsIs() && remask.HiddenByName(p.Policy, p.Place.Project, at) && (own == nil || !own.Has(at)):
		return false
	}
	found := PathAnswer{PathExplanation: policy.PathExplanation{Path: at}, Held: holder(p.Plan, at)}
	return found.HeldSource() == at
}
