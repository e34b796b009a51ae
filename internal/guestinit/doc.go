// Package guestinit is the first program of a virtual machine of backend vm. It makes the machine's
// system as the supervisor outside says: of directories that are served to it, and of its memory.
// It starts the parts of carrel-relay that carry files, the network and commands, each at a port of
// its own. When the supervisor is gone, it ends the machine.
//
// Messages are objects of JSON over the port named [Port]. The machine obeys the supervisor; what it
// says itself is not trusted there.
package guestinit
