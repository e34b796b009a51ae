package workspace

import (
	"slices"

	"carrel/internal/api"
	"carrel/internal/histories"
	"carrel/internal/history"
	"carrel/internal/history/journal"
	"carrel/internal/steps"

	"golang.org/x/sys/unix"
)

// openSteps opens the history of the project for one run.
func (p *Prepared) openSteps(id string, stage int) (*steps.Recorder, error) {
	if p.historyAt == "" {
		return nil, nil
	}
	var ignore []string
	for _, v := range p.Loaded.Settings.History.Ignore {
		ignore = append(ignore, v.V)
	}
	return steps.Open(steps.Options{
		Dir: p.historyAt, Stage: stage, Roots: p.Plan.Roots, Bursts: p.Agent != nil || p.forAgent || interactive(), Granted: !p.Plan.Landlock.Files,
		Run:        journal.Begin{Kind: journal.StepRun, Run: id, Command: history.Argv(p.req.Argv), Open: p.NoWalls()},
		Safeguards: p.Loaded.Settings.Safeguards, Scope: p.place.Scope(nil), Ignore: ignore, Limits: histories.LimitsOf(p.Loaded), Total: p.totalLimit(),
		Records: p.recordsAt(), Begun: p.noteHistory, Used: p.noteUse, Audit: p.audit.Step(),
		Interrupted: func(steps []uint64) { p.interrupted = append(p.interrupted, steps...) }, Note: p.note,
	})
}

// interactive says whether a person types the commands.
func interactive() bool {
	_, err := unix.IoctlGetTermios(0, unix.TCGETS)
	return err == nil
}

// Lost says whether the run destroyed something that could not be kept.
func (p *Prepared) Lost() bool {
	return slices.ContainsFunc(p.kept, func(s steps.Segment) bool { return s.Lost })
}

// Steps fills in what the steps of a run that is over changed. It reads the run's own
// journals, so it is asked only where the answer is shown.
func (p *Prepared) Steps(r *api.Result) { steps.Fill(p.historyAt, p.kept, r) }
