package session

// DeskRequest is a workspace that stays, as a surface understood it.
type DeskRequest struct {
	Name    string // see [named.CheckName]
	Purpose string // what it is for, in a person's words
	Owner   int    // a process with which it ends, 0 for none
	Passing bool   // with Owner's end all that it keeps goes, but its audit log
}
