// Package history keeps what a run's changes destroy, and brings it back.
//
// A [Store] belongs to one project. Each run writes one segment: an append-only
// journal of checksummed records, and a directory of objects, the preimages.
// A [Writer] is told of every change before it is made and after; the first time
// a step touches something it stores what is there, then the intent, and only
// then lets the change happen. A [Log] reads all segments of a store and gives
// the steps in their order; a [Plan] says what taking a step back would do and
// what is in its way; [Store.Undo] does it, as a step of its own that can be
// taken back as well.
//
// Its words:
//
//   - A step is the changes between two moments of one writer. Its number is
//     the project's: steps of two runs at once never share one.
//   - A stamp orders records of all writers: a counter in the store, no clock.
//   - The origin of something is the path that it had when the step began; what
//     the step made has none. Preimages are kept by origin, so that a directory
//     that is renamed costs one record, whatever is in it.
//   - Pre is the state of a touched path as the step found it, post the one
//     that it left. Undo is refused where the present is not post.
//
// Paths are absolute and bytes. The store is data, not trusted: every path is
// resolved beneath a pinned root without following a link, every length is
// bounded. The package knows no policy; what may be restored is asked of its
// caller.
package history
