// Package spool keeps on disk what should outlive the program that said it,
// within a bound: the output of an app, the events of a workspace, and small
// files that are replaced as a whole.
//
//   - [Log] takes bytes and keeps the newest of them in two files. Each byte has a
//     logical offset that never changes, counted from the log's first byte. So a reader
//     can come back later, follow, and hear that something is gone.
//   - [Reader] reads a log, in this process or another one, also while it is
//     written and rotated. It keeps nothing open.
//   - [Lines] are JSON lines with sequence numbers on top of a log.
//   - [WriteFile] and [ReadFile] replace and read a file atomically.
//
// Everything lies in a directory that the caller has open and has made its own
// (0700); names are single components below it, and links are never followed. A
// file that is not regular, has several links or belongs to another user is an
// error. What is read is bounded, and still only data.
//
// # Format
//
// NAME and NAME.1 each begin with one line of 33 bytes: "carrel log 1 " and the logical
// offset of the byte after it in 19 digits. NAME is written; at half of the log's size it
// is renamed to NAME.1, whose bytes are gone with that, and a new NAME begins. So the
// offsets survive a kill at any moment: a NAME that is missing or shorter than its first
// line goes on where NAME.1 ends. After a power failure a log may have lost its end, or
// begin anew: nothing is synced.
//
// The package imports nothing of this module.
package spool
