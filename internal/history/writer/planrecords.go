package writer

import (
	"maps"
	"slices"

	"carrel/internal/history/journal"
)

// PlanRecords is what an undo writes down before it changes anything.
type PlanRecords struct {
	Actions []journal.Action
	Pre     []journal.Pre    // of the undo, as a step
	Posts   []journal.Post   // what will be there, without its state
	Beyond  []journal.Beyond // what will only have names outside
}

// touched are the paths at which a plan finds or leaves something.
func (p *PlanRecords) touched() []string {
	all := make(map[string]bool)
	for i := range p.Pre {
		all[string(p.Pre[i].Path)] = true
	}
	for i := range p.Posts {
		all[string(p.Posts[i].Path)] = true
	}
	return slices.Sorted(maps.Keys(all))
}
