// Package guest has commands run under another kernel: it carries the control socket of a stage
// over one stream of bytes, to package guestagent in a virtual machine. A descriptor that goes
// with a message becomes a stream of its own: pipes and sockets are copied, a terminal gets one of
// the other kernel's behind it.
//
// What comes from there is hostile. Messages, streams and what waits are bounded; each command
// has one start and one end, whatever is said of it; what is not answered in time counts as refused.
package guest
