// Package advice is the type of an error that comes with one line of advice. Both are shown by
// every surface in the same way, as denials and their hints are. What an error is can be asked
// through it as without.
package advice

// Error is an error with one line of advice.
type Error struct {
	Err  error
	Hint string
}

func (e *Error) Error() string { return e.Err.Error() + "\nhint: " + e.Hint }
func (e *Error) Unwrap() error { return e.Err }
