package session

import (
	"context"

	"carrel/internal/config"
	"carrel/internal/protectednames"
)

// Changed lists what a run left in the project.
type Changed = protectednames.Changed

// DeskStart is how the supervisor of a workspace that stays is started.
type DeskStart struct {
	Args     []string // of the command line
	Dir      string   // that it works in; "" for that of this process
	Environ  []string
	Ceilings []config.CeilingText // that it is held to
	Detach   bool                 // it is no child of this process, which goes on
	Progress func(text string)    // is told what the start is at
}

// DeskRequest is a workspace that stays, as a surface understood it.
type DeskRequest struct {
	Name    string // see [named.CheckName]
	Purpose string // what it is for, in a person's words
	Owner   int    // a process with which it ends, 0 for none
	Passing bool   // with Owner's end all that it keeps goes, but its audit log

	// Notify has the person's desktop show when the agent in it waits or is done.
	Notify bool

	// Tasks answers programs inside that give tasks to others, see package taskhost; nil for a
	// workspace that gives none.
	Tasks func(ctx context.Context, call []byte) []byte
}
