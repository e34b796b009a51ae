// Package streams carries many connections over one stream of bytes, as a virtual machine has
// to the supervisor outside. Each has a bound on what is on its way, so that one that is not
// read holds up no other.
//
// The other side may be hostile: it may say anything, open connections without end and never
// read. Frames, connections and what waits are bounded; one that breaks the rules ends all.
package streams
