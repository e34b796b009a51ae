// Package steplog makes steps of the records of journals: what the history knows of the
// past, in the order in which it happened.
//
// A [Segment] takes the records of one journal, in whatever state that is, and adds its
// steps to a [Log]. A [Step] is the changes between two moments of one writer: what it
// found at each path that it touched first ([Step.Pres]), what it left ([Step.Posts]),
// and what comes of that in the end ([Step.Changes]). [Log.Settle] puts the steps of all
// journals in their order, and finds out which of them are taken back by which. A
// [Family] is a step with the undos and redos of it: they share objects, so that they
// can only be discarded together.
//
// What a step changed need not be read to list it: an entry of the index tells all else
// ([Segment.Entry], [ReadEntry]), and the journal is read again when it is asked for.
// The package opens no files. Where it needs one it is given what reads it, and what the
// kernel calls file systems now ([Renumber]).
package steplog
