package sandbox

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// ControlSocket is one end of the connection between a supervisor and a stage: messages with
// descriptors, each way.
type ControlSocket struct {
	file *os.File
	send sync.Mutex
	buf  [MaxMessage]byte // of the one goroutine that receives
}

// NewControlSocket takes over an end, which blocks.
func NewControlSocket(file *os.File) *ControlSocket { return &ControlSocket{file: file} }

// Tell sends one message.
func (c *ControlSocket) Tell(m Message, fds ...int) error {
	c.send.Lock()
	defer c.send.Unlock()
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	return control(c.file, func(fd int) error { return unix.Sendmsg(fd, m.Encode(), rights, nil, unix.MSG_NOSIGNAL) })
}

// Receive waits for one message, for one goroutine at a time.
func (c *ControlSocket) Receive() (Message, []int, error) {
	oob := make([]byte, unix.CmsgSpace(8*4))
	var n, oobn int
	err := control(c.file, func(fd int) (err error) {
		n, oobn, _, _, err = unix.Recvmsg(fd, c.buf[:], oob, unix.MSG_CMSG_CLOEXEC)
		if err == unix.ECONNRESET { // told once, of a stage that has ended with a word of ours unread, and before its own last words
			n, oobn, _, _, err = unix.Recvmsg(fd, c.buf[:], oob, unix.MSG_CMSG_CLOEXEC)
		}
		return err
	})
	if err != nil {
		return Message{}, nil, err
	}
	if n == 0 {
		return Message{}, nil, unix.EPIPE
	}
	m, err := DecodeMessage(c.buf[:n])
	return m, Rights(oob[:oobn]), err
}

// Shutdown ends the connection for both sides, also while one waits.
func (c *ControlSocket) Shutdown() {
	_ = control(c.file, func(fd int) error { return unix.Shutdown(fd, unix.SHUT_RDWR) })
}

// Close lets go of it. A reader that waits keeps it until [ControlSocket.Shutdown].
func (c *ControlSocket) Close() error { return c.file.Close() }
