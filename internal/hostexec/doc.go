// Package hostexec is the protocol by which programs inside have commands of the host
// run: its messages, and the side that answers. It speaks two dialects over one socket,
// told apart by the first line, see docs/host-protocol.md: its own, and that of workmux,
// whose guests it serves as they are.
//
// It is a mechanism: it starts nothing itself and knows no policy. Who answers for it
// says by a [Host] what a command may do and carries it out. Its clients are whatever
// runs behind the walls: every line is bounded, decoded strictly (but for workmux's
// dialect, whose decoder ignores what it does not know), and widens nothing.
package hostexec
