package histories

import (
	"carrel/internal/config"
	"carrel/internal/history"
	"carrel/internal/policy"
)

// LimitsOf are what the configuration says, and the defaults.
func LimitsOf(l *config.Loaded) history.Limits {
	out := history.DefaultLimits()
	for _, v := range []struct {
		to   *int64
		said *policy.Value[int64]
	}{
		{&out.Bytes, l.Settings.History.MaxBytes},
		{&out.Steps, l.Settings.History.MaxSteps},
		{&out.StepBytes, l.Settings.History.MaxStepBytes},
		{&out.FileBytes, l.Settings.History.MaxFileBytes},
	} {
		if v.said != nil {
			*v.to = v.said.V
		}
	}
	return out
}

// defaultTotal is the limit where the configuration sets none.
const defaultTotal = 10 << 30

// TotalOf is what all histories together may take, 0 for no limit. Where only the
// limit of one project is set, and is more, it holds for all.
func TotalOf(l *config.Loaded) int64 {
	said := l.Settings.History
	switch {
	case said.MaxTotalBytes != nil:
		return said.MaxTotalBytes.V
	case said.MaxBytes != nil && said.MaxBytes.V == 0:
		return 0
	}
	return max(defaultTotal, LimitsOf(l).Bytes)
}

// MaxCounted is how long a journal may be for a run to count at its end what
// it changed: all of it is in memory then. It has about a million changes.
var MaxCounted int64 = 256 << 20

// trimStep is which part of a limit has to be added before it is tried again: what is
// beyond the limits may be the newest step alone, or another run may be in the way.
const trimStep = 8

// Grown says whether there is enough more than the last time.
func Grown(now, tried, limit int64) bool {
	return limit > 0 && now > limit && (tried <= limit || now >= tried+max(1, limit/trimStep))
}
