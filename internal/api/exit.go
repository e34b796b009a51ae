package api

// Exit statuses of our own, as docker(1) and env(1) have them.
const (
	ExitOurs       = 125 // carrel itself refused or went wrong
	ExitNotRunable = 126 // the command was found and could not be run
	ExitNotFound   = 127 // the command was not found inside
	ExitTimeout    = 124 // the time limit ended it, as timeout(1) has it
)
