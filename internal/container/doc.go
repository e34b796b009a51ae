// Package container drives the container engines of this machine, podman and docker: it finds
// one, says what it can hold, and makes, lists and removes images.
//
// An [Engine] is a program by its absolute path with an environment of its own. [Find] starts
// no process, so it costs a run next to nothing; [Engine.Examine] asks the engine about itself.
// What an engine says is bounded and has a deadline, and it is data: a name or an id from it is
// checked before it becomes an argument. An error says what failed, why, and what mends it.
//
// What Carrel makes carries [LabelOwner]. Images are removed by that label and by id, never by
// a name alone, which belongs to the person as soon as they use it.
package container
