// Package steps divides what one run changes into steps of its project's history. Its
// [Recorder] is told of every change by the broker, before and after: it opens a step with
// the first change, has the history keep what is destroyed, and decides where a step
// ends. A job is what outlives the step that started it, and every app of a named
// workspace; each has steps of its own, so that the others can be undone without it.
// The user's safeguards and the owner's terms hold a change until it is answered.
//
// It knows no policy of files but that of the safeguards, and widens nothing: a wrong
// mark only moves the boundary of a step.
package steps

// Segment is what one writer of a run wrote of its project's history.
type Segment struct {
	name string
	Lost bool
}
