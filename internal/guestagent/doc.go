// Package guestagent is the part of Carrel that starts commands in a virtual machine: it answers
// package guest over its standard streams. Commands are below a stage, the first process of a PID
// namespace; when the stream or either process ends, all of them do.
//
// It is the machine's root, and trusts the other side. Commands run as another user, and cannot
// signal or read either process.
package guestagent
