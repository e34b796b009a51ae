// Package stdio relays standard descriptors, the terminal and signals between the caller
// of a command and the command behind walls. A regular file never crosses, as it could be
// opened anew with other rights; the terminal is given back as it was; a signal that ends
// the command ends its caller in the same way.
//
// The package starts nothing, and knows of the command what a [Target] has.
package stdio
