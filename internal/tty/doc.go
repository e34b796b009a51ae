// Package tty stands between the terminal of a caller and a terminal of a command behind
// walls: it sets sizes and modes, gives the caller's terminal back as it was, and sees the
// key for pasting.
//
// Streams that are no terminal, and signals, are those of package stdio.
package tty
