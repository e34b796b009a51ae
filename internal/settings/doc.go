// Package settings edits the settings of other programs as text: JSON with
// comments, and TOML. It knows where things stand and how to put them in and take
// them out; what is put in, and whose it is, its callers decide.
//
// # The edit
//
// Settings are other programs' files with the user's comments in them. So they
// are parsed to find places and edited as text: what is not edited stays byte for
// byte. [File] replaces a file at once, if it still is what was read.
//
// Taking out gives back the very bytes from before putting in, without a record of them. Where
// it could go either way, what we write says what was there: a list or object that was empty
// gets our text directly behind its bracket. One that we make has white space there. In TOML
// each of our blocks follows one blank line, but not at the top of a file that we made.
//
// # Limits
//
// A writer that does not replace the file but writes into it, in the moment
// between our last look and the rename, is not noticed.
//
// The package imports nothing of this module.
package settings
