// Package audit is the log of a named workspace in which every record carries the
// hash of the one before: what was changed, left out, put in or put in another order
// afterwards is found by reading it.
//
//   - [Log] writes, from one process, at the end of the file only. [Log.Append] hands a
//     record to a goroutine beside and waits for no disk.
//   - [Open] and [OpenFile] give the log of a moment as a [Snapshot], which can be
//     checked, read and copied, also while it is written.
//
// # Format
//
// A line is one JSON object, an [carrel/internal/api.AuditRecord] with a last member
// "hash" behind it: the SHA-256 of the line without that member. "prev" is the hash of
// the line before, and the numbers rise by one. So a record's bytes as they stand are
// what is hashed; nothing is encoded anew to check them.
//
// NAME is written. At half of the log's bound it is renamed to NAME.1. The new NAME begins with
// a record "rotated", whose number and prev go on from there. The records of the NAME.1 before
// that are gone.
//
// A line that a killed writer left without its end stays. The next writer ends it
// with a newline and puts down how long it was and its hash, in a record "torn".
//
// # Limits
//
// The hashes have no key. Who can write the file can cut records off its end, or
// replace all of it by another chain: that is found only with a head that was noted
// elsewhere, see [Verify]. Files that went by rotation cannot be told from a
// beginning that was cut off, as long as what is left begins with a "rotated".
package audit
