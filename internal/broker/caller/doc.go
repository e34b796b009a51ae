// Package caller reads what a program says that waits in a trapped call: its memory, its
// directory in /proc and what is known there of its descriptors, proc(5),
// process_vm_readv(2). Everything that it gives is data of a program that may lie, and may
// be gone by now: a number means a thread only as long as its directory is held open. It
// decides nothing.
package caller
