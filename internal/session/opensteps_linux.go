package session

import (
	"slices"

	"carrel/internal/api"
	"carrel/internal/histories"
	"carrel/internal/steps"

	"golang.org/x/sys/unix"
)

// openSteps opens the history of the project for one run.
func (s *Session) openSteps(id string, stage int) (*steps.Recorder, error) {
	if s.HistoryAt == "" {
		return nil, nil
	}
	var ignore []string
	for _, v := range s.Loaded.Settings.History.Ignore {
		ignore = append(ignore, v.V)
	}
	return steps.Open(steps.Options{
		Dir: s.HistoryAt, Stage: stage, Roots: s.Plan.Roots, Bursts: s.Agent != nil || s.ForAgent || interactive(), Granted: !s.Plan.Landlock.Files,
		Run:        steps.RunOf(id, s.Request.Argv, s.NoWalls()),
		Safeguards: s.Loaded.Settings.Safeguards, Scope: s.Place.Scope(nil), Ignore: ignore, Limits: histories.LimitsOf(s.Loaded), Total: s.TotalLimit(),
		Records: s.RecordsAt(), Begun: s.NoteHistory, Used: s.NoteUse, Audit: s.Audit.Step(),
		Interrupted: func(steps []uint64) { s.interrupted = append(s.interrupted, steps...) }, Note: s.Note,
	})
}

// interactive says whether a person types the commands.
func interactive() bool {
	_, err := unix.IoctlGetTermios(0, unix.TCGETS)
	return err == nil
}

// Lost says whether the run destroyed something that could not be kept.
func (s *Session) Lost() bool {
	return slices.ContainsFunc(s.kept, func(one steps.Segment) bool { return one.Lost })
}

// Steps fills in what the steps of a run that is over changed. It reads the run's own
// journals, so it is asked only where the answer is shown.
func (s *Session) Steps(r *api.Result) { steps.Fill(s.HistoryAt, s.kept, r) }
