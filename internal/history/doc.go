// Package history keeps what a run's changes destroy, and brings it back.
//
// A [Store] belongs to one project. Each run writes one segment: an append-only
// journal of checksummed records, and a directory of objects, the preimages.
// A [Writer] is told of every change before it is made and after; the first time
// a step touches something it stores what is there, then the intent, and only
// then lets the change happen. A [Log] is what all segments of a store say, as
// steps in their order, which package steplog makes of them; a [Plan] says what
// taking a step back would do and what is in its way; [Store.Undo] does it, as a
// step of its own that can be taken back as well.
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
//     before that, so whoever comes after a loss of power reads the journals.
//   - A change is not synced. Where the file system keeps the order of changes to
//     names, as ext4, XFS and Btrfs do, the link of what loses its name is there
//     before the name is gone; a copy, and the journal, may not be. The journal may
//     also be further than the tree, end anywhere, and have holes: those after what
//     is known to have been synced ([journal.Record].Safe) end it.
//   - An undo's plan is there before its first action, and all its actions before its
//     end. Between two file systems a copy is there before its source is removed.
//   - What is discarded is written down, and that is there, before anything goes.
//
// The form of all records is that of package journal. Paths are absolute and bytes.
// The store is data, not trusted: every path is resolved beneath a pinned root without
// following a link, every length is bounded. The package knows no policy; what may be
// restored is asked of its caller.
package history
