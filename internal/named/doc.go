// Package named keeps what outlives a workspace that has a name: its place in the state
// directory, held by one process at a time; with the manifest, the mode that a person wants,
// events, the audit log and what apps have written. Surfaces read the same of one that has
// stopped or was killed, and remove it.
//
// Places are directories of this user alone, opened without following a link; every file
// in one has a bound. The package runs nothing and decides nothing.
package named
