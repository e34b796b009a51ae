package workspace

import (
	"errors"
	"fmt"

	"carrel/internal/advice"
	"carrel/internal/sandbox"
)

// openStarts says whether a workspace without walls can be started here. No history
// is given up because the machine refuses it: who wants none says so. A command then
// needs nothing but that all of it ends together.
func (p *Prepared) openStarts(refused error) error {
	if refused == nil {
		return nil
	}
	if p.history() {
		hint := "`--history off` goes without undo, if that is what you want; `carrel doctor` says what namespaces need here"
		return &advice.Error{Err: fmt.Errorf("--backend none: changes cannot be recorded, as the system refuses carrel namespaces: %w", refused), Hint: hint}
	}
	err := sandbox.CanStandAlone()
	if err == nil && p.uid == 0 {
		err = errors.New("for root, Landlock does not either")
	}
	if err != nil {
		return &advice.Error{Err: fmt.Errorf("--backend none: nothing here would end with the command all that it starts: namespaces: %w; Landlock: %w", refused, err),
			Hint: "run the command itself: without walls and without history there is nothing else that carrel does for it"}
	}
	p.plain = true
	p.engine.why += ", and no namespaces, which the system refuses"
	return nil
}
