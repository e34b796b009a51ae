package sandbox

import "fmt"

// MessageKind is the first byte of a message between supervisor and stage.
// Each message is one packet of a SOCK_SEQPACKET pair.
type MessageKind byte

const (
	// From the stage.
	MsgHello   MessageKind = 'H' // no child of the supervisor, and waiting for the plan: Text its namespaces where bubblewrap made them
	MsgReady   MessageKind = 'R' // walls are up; carries the inside API's listening socket, but for Code ReadyAlone
	MsgBroker  MessageKind = 'B' // ID of the mount namespace; carries the filter's listener, the mirror's root, the view's root and the roots alone
	MsgSetup   MessageKind = 'E' // they are not: Text step, Path, Code errno, Err
	MsgNote    MessageKind = 'N' // Text for the user
	MsgStarted MessageKind = 'S' // ID, Code pid inside
	MsgNoStart MessageKind = 'F' // ID, Path name, Code errno, Text
	MsgExited  MessageKind = 'X' // ID, Code exit status, Signal
	MsgStopped MessageKind = 'T' // ID, Signal
	MsgDialed  MessageKind = 'D' // ID; carries the connection, or Code errno
	MsgBound   MessageKind = 'U' // ID, Code errno; 0 for a MsgFlush
	MsgSocket  MessageKind = 'L' // ID, a listener's place in the plan or a request's; carries the socket, or Code errno
	MsgDiag    MessageKind = 'Q' // carries a netlink socket that tells whose a connection is
	MsgPackets MessageKind = 'K' // carries packet sockets of the loopback interface, one for each family

	MsgCopy MessageKind = 'C' // carries one of Mount.Copies
	MsgProc MessageKind = 'O' // carries the workspace's own procfs

	MsgPty MessageKind = 'P' // ID; carries a new pseudoterminal's two ends, or Code errno

	// To the stage.
	MsgPlan   MessageKind = 'p' // build; carries the plan's memory file, stdin, stdout, stderr, and Plan.Given
	MsgExec   MessageKind = 'x' // ID; carries the command's memory file, then stdin, stdout, stderr
	MsgSignal MessageKind = 'k' // ID, Signal; to the command's process group when it has its own, else to the process
	MsgBind   MessageKind = 'u' // ID, Code umask, Text; carries a Unix socket to bind and a directory of the mirror to start from
	MsgDial   MessageKind = 'd' // ID, Text address:port: connect to the workspace's own loopback; or a path: to the Unix socket there
	MsgNewPty MessageKind = 'y' // ID: a new pseudoterminal of the workspace's own
	MsgFlush  MessageKind = 'f' // ID: say so when what came before has been done
	MsgListen MessageKind = 'l' // ID, Text address:port: listen on TCP, on the loopback or in the pool
)

// ReadyAlone is the code of a MsgReady from a stage that has no socket inside.
const ReadyAlone = 1

// MaxMessage bounds one packet in bytes. Commands travel in memory files, so
// only short texts are left.
const MaxMessage = 16 << 10

// FirstCommand is the ID of the command that came with the plan.
const FirstCommand = 1

// Message is what supervisor and stage tell each other.
type Message struct {
	Kind   MessageKind
	ID     uint64
	Code   int
	Signal int
	Text   string
	Path   string
}

// Encode gives the packet. Texts are cut so that it always fits.
func (m *Message) Encode() []byte {
	e := &encoder{buf: []byte{byte(m.Kind)}}
	e.num(m.ID)
	e.num(uint64(uint32(m.Code)))
	e.num(uint64(m.Signal))
	e.str(cut(m.Text))
	e.str(cut(m.Path))
	return e.buf
}

func cut(s string) string { return s[:min(len(s), MaxMessage/3)] }

// DecodeMessage reads one packet.
func DecodeMessage(b []byte) (Message, error) {
	if len(b) == 0 {
		return Message{}, errShortPlan
	}
	d := &decoder{buf: b[1:]}
	m := Message{Kind: MessageKind(b[0]), ID: d.num(), Code: int(int32(d.num())), Signal: int(d.num()), Text: d.str(), Path: d.str()}
	if d.err != nil {
		return Message{}, fmt.Errorf("message %q: %w", b[0], d.err)
	}
	return m, nil
}
