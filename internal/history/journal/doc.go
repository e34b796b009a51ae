// Package journal is the form in which a history records what steps do.
//
// A journal is a file of records, one after the other: each is CBOR in a frame of its length and
// checksum. A [Record] says that a step begins or ends ([Begin], [End]). It says what a step
// found at a path before it changed that ([Pre]), and what it left there ([Post]). Of an undo it
// says one [Action] of its plan. A [State] is what there was at a path, an [Object] names the
// preimage that is kept of it, an [ID] the inode.
//
// [Encode] and [Reader] are the two ends. What a crash leaves is met by all of this: a
// record counts if its frame is whole, a reader goes on behind what it cannot read, and
// [Record.Valid] refuses what this program never writes. All lengths are bounded before
// anything is allocated, so that a journal is data and never trusted.
//
// The keys of the fields are the format, and never change their meaning: a new field
// takes a new key. The package opens no files and knows no order of steps; package
// history has both.
package journal
