// Package cmdline checks what is given on a command line: the arguments of a command, its
// flags, and the mistakes in them. Each error says what would be right, and how to get
// help.
//
// It knows no command. It adds to cobra and imports nothing of this module.
package cmdline
