// Package sound plays one of the host's own sounds for a program inside the walls,
// which has no sound server.
//
// What is asked for is a name from a table: those of the freedesktop sound naming specification
// that people use, and the fourteen of macOS, by which hooks of agents ask. The table says which
// names of a sound theme stand for it. [Host.Ways] says which file of this host that is, and
// which of its players can play it. [Play] plays it: a program by its absolute path, a file of
// the system by its absolute path, an environment of a few words. No byte that comes from inside
// reaches a decoder.
//
// It starts no sound server and plays nothing where none runs. It imports nothing of
// this module.
package sound
