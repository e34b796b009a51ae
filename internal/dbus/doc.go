// Package dbus is a client of a D-Bus bus on which everyone may be hostile, the bus
// included. It asks questions and takes their answers; it serves nothing.
//
// The encoding is godbus's, the connection is not: that library's connection answers calls, and
// starts a goroutine for each message without a reader. It ends the program on some messages
// that a bus should not send. Here a message is bounded before it is read. An answer counts only
// from the program that was asked and only with the type that was asked for. Only such an answer
// is decoded.
//
// The formats are those of the D-Bus specification. The package imports nothing of this
// module.
package dbus
