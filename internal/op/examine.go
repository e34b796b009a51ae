package op

import (
	"fmt"
	"strings"
	"sync"

	"carrel/internal/doctor"
	"carrel/internal/show"
)

// Report is what an examination of this machine has found.
type Report = doctor.Report

// examining is held by an examination: trials of one process would have the same names.
var examining sync.Mutex

// Examine tries what walls are made of. What has worked before is not tried again unless fresh
// is set. Where there can be no walls it gives the report with an error that names what is
// missing.
//
// What a trial builds it builds in processes of its own, so that a server may ask as well as a
// command that ends: an examination leaves the process that asks as it was.
func Examine(c *Caller, fresh bool) (Report, error) {
	examining.Lock()
	defer examining.Unlock()
	state := c.State()
	m := doctor.This(c.Getenv, state, c.Dir)
	kept := doctor.Open(m, state, fresh)
	r := doctor.Examine(kept.On(m))
	r.Kept = kept.Kept()
	if err := kept.Save(state); err != nil {
		c.Tell(show.OneLine(err.Error()))
	}
	if r.Ready {
		return r, nil
	}
	lacking := strings.Join(r.Lacking(), ", ")
	return r, fmt.Errorf("carrel run has no walls of its own here: %s\nhint: another engine may hold what you want, with less; `carrel explain` shows which", lacking)
}
