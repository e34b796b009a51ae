// Package historycmd holds the commands about what runs have changed: history and what is
// below it, show, diff, undo, redo, discard, du, and step, by which a program inside marks
// a step.
//
// A command reads flags, calls a function of package historyop and prints what that gives,
// values of package stepview. Which steps are meant is decided there; which paths may be told
// and what may be undone, in package projecthistory.
package historycmd

import "carrel/internal/cli/cmdenv"

// Commands are the commands of this package.
func Commands() []cmdenv.Command {
	return []cmdenv.Command{
		{Name: "history", Make: historyCommand},
		{Name: "du", Make: duCommand},
		{Name: "show", Make: showCommand},
		{Name: "diff", Make: diffCommand},
		{Name: "undo", Make: undoCommand},
		{Name: "redo", Make: redoCommand},
		{Name: "discard", Make: discardCommand},
		{Name: "step", Make: stepCommand},
	}
}
