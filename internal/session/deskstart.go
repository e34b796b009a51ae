package session

import "carrel/internal/config"

// DeskStart is how the supervisor of a workspace that stays is started.
type DeskStart struct {
	Args     []string // of the command line
	Dir      string   // that it works in; "" for that of this process
	Environ  []string
	Ceilings []config.CeilingText // that it is held to
	Detach   bool                 // it is no child of this process, which goes on
	Progress func(text string)    // is told what the start is at
}
