// Package stdio relays standard descriptors and signals between the caller of a command and
// the command behind walls. A regular file never crosses, as it could be opened anew with
// other rights; a signal that ends the command ends its caller in the same way. Terminals
// are those of package tty.
//
// The package starts nothing, and knows of the command what a [Target] has. It uses package
// syscall alone, as it is used before the rest of the program is initialised, see package
// quickexec.
package stdio
