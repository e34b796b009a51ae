// Package gitconf parses git's configuration as git does, from all its sources, says what
// it would make git run, and vets changes of it.
//
// Parse reads a file exactly as git does; the tests compare it with the real
// one. Load reads all files that git would read for the repositories it is
// given, with what they include. Targets gives the paths that the values name
// and that git would run or read as configuration. VetChange and VetNew say
// what a program may write into a repository's configuration.
//
// The package is pure: it sees files through an interface, knows no clock, and
// its functions are safe for concurrent use.
package gitconf
