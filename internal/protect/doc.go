// Package protect holds the rules of names that make other programs run code later:
// git's control files, settings of editors, shells, package managers and
// agents. Mounts hold those names that exist when a run starts; the rules here
// are for what mounts cannot hold: names that do not exist yet, names deeper in
// the tree, directories renamed to such a name, and repositories born inside.
// What git's configuration may hold is package gitconf's business.
//
// The package is pure: it looks at letters and bytes that it is given, knows
// no file system and no clock, and its functions are safe for concurrent use.
//
// The list of names cannot be complete. A Makefile, a test or a build script
// runs code as well, and to write those is what an agent is for.
package protect
