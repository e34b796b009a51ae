// Package store keeps the history of one project on the disk: journals of what steps did, the
// objects that they refer to, and what steps are gone.
//
// Open gives a [Store]. One that writes takes a [Segment] from [Store.NewSegment] and adds
// records to its journal and files to its objects; it closes it with [Store.MarkClosed],
// [Seal] and [Store.IndexSegment]. One that reads takes a [Log], which holds all steps in
// their order: [Store.Survey] reads them by the index, [Store.Read] by the journals.
//
// Writers share a lock. Who takes steps back, removes or closes what was interrupted holds it
// alone. The numbers of steps, and the stamps that order the records of all writers, are
// counters in a mapped file; what a loss of power takes from them is made again from the
// journals.
//
// The files of a store are data, and not trusted: each is opened beneath the pinned directory
// without following a link, and every length is bounded.
package store
