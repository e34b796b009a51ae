// Package history keeps what a run's changes destroy, and brings it back.
//
// A [Store] belongs to one project. It is the front of three packages, of which each imports
// only those before it:
//
//   - Package store has the files of a history: journals, objects, what is gone.
//   - Package writer is told what a run changes, and keeps what that destroys.
//   - Package undo takes steps back, and closes what was interrupted.
//
// Below them, package journal has the form of all records, steplog makes steps of
// records, and relate makes a graph of steps. graph decides on it what an undo does, and
// disk has the calls that look at trees and change them.
//
// Its words:
//
//   - A step is the changes between two moments of one writer. Its number is
//     the project's: steps of two runs at once never share one.
//   - A segment is what one writer writes: an append-only journal of checksummed records,
//     and a directory of objects, the preimages.
//   - A stamp orders records of all writers: a counter in the store, no clock.
//   - The origin of something is the path that it had when the step began; what
//     the step made has none. Preimages are kept by origin, so that a directory
//     that is renamed costs one record, whatever is in it.
//   - Pre is the state of a touched path as the step found it, post the one
//     that it left.
//   - Relations are what steps say, as a graph: a node is one object, whatever
//     inodes it had, a version one content of it. Package graph decides on them
//     what an undo does, and where the present is not what the steps left.
//
// What is on the disk when:
//
//   - [Writer.Sync], at the end of steps: the objects, then the counters and the
//     directories that lead to the journal, then that. A step that was closed before
//     is whole from then on. A writer that wrote something is not marked as closed
//     before that, so one that comes after a loss of power reads the journals.
//   - A change is not synced. ext4, XFS and Btrfs keep the order of changes to names.
//     There the link of what loses its name is there before the name is gone; a copy, and
//     the journal, may not be. The journal may also be further than the tree, end
//     anywhere, and have holes: those after what is known to have been synced
//     ([journal.Record].Safe) end it.
//   - An undo's plan is there before its first action, and all its actions before its
//     end. Between two file systems a copy is there before its source is removed.
//   - What is discarded is written down, and that is there, before anything goes.
//
// Paths are absolute and bytes. The store is data, not trusted: every path is resolved beneath
// a pinned root without following a link, every length is bounded. The package knows no
// policy; what may be restored is asked of its caller.
package history
