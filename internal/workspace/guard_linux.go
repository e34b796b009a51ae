package workspace

import (
	"fmt"
	"slices"
	"time"

	"carrel/internal/api"
	"carrel/internal/broker"
	"carrel/internal/guard"
	"carrel/internal/hostfacts"
	"carrel/internal/policy"
	"carrel/internal/protectednames"
	"carrel/internal/remask"
	"carrel/internal/supervisor"
)

// Guards is what the changes of this run are decided by; own are the files of secrets that
// it has made, nil for none.
func (p *Prepared) Guards(own *remask.OwnFiles) guard.Config {
	program := p.reason(policy.DimPrograms)
	c := guard.Config{
		Policy: p.Policy, Project: p.place.Project, Git: p.place.Git, Roots: p.Plan.Roots, Write: p.guarded.Write, Guarded: p.guarded.Rules,
		Named: p.guarded.Named, Trees: protectednames.OtherTrees(&p.place), Seconds: secondNames(p), Configs: p.isGitConfig, Passwords: p.passwords(), Exact: p.asIs(),
		Starts:   p.Plan.Landlock.Execute,
		Programs: broker.Verdict{Rule: "programs.allow: " + program.Value, Source: program.Source.String(), Hint: programsHint},
		Strict:   p.strictSecrets(), MadeInside: own.Is,
	}
	if self, err := hostfacts.OwnProgram(); err == nil {
		// One that is not there is made by nothing inside.
		c.Guarded = slices.Concat(c.Guarded, hostfacts.OwnProgramRules(p.Policy, self))
	}
	for _, m := range p.mounts {
		c.Mounts = append(c.Mounts, m.Source)
	}
	if p.state != nil {
		c.State, c.Private = p.state.Root(), p.state.Has
	}
	if main := p.lentBroker; main != nil {
		c.With = main.judge
	}
	return c
}

// tellsListed gives what tells of each name that is listed: an event, and a record beside
// the denials.
func (p *Prepared) tellsListed(desk *supervisor.Server, id string) func(at string) {
	told := 0
	return func(at string) {
		d := api.Denial{Time: time.Now(), Workspace: id, Project: p.place.Project, Code: api.CodeListed, Operation: "create", Subject: shortened(at),
			Rule: "a name that can make programs outside run code", Source: "default"}
		d.Message = fmt.Sprintf("%q was made or changed inside, and was not refused: it can make programs outside run code; look at it first", d.Subject)
		desk.Emit(api.Event{Kind: api.EventListed, Text: d.Message})
		if told++; told <= maxDenials && p.state != nil {
			_ = p.state.LogDenial(d) // the summary names it as well
		}
	}
}
