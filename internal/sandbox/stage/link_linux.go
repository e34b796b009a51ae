package stage

import (
	"errors"
	"sync"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// link is the stage's end of the control socket.
type link struct {
	fd   int
	send sync.Mutex
	buf  [sandbox.MaxMessage]byte // of the one goroutine that receives
}

func newLink(fd int) *link {
	unix.CloseOnExec(fd)
	return &link{fd: fd}
}

// say sends one message, with descriptors if there are any. When the supervisor
// is gone there is nobody left to tell: the next receive ends the stage.
func (l *link) say(m sandbox.Message, fds ...int) {
	l.send.Lock()
	defer l.send.Unlock()
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	for {
		if err := unix.Sendmsg(l.fd, m.Encode(), rights, nil, unix.MSG_NOSIGNAL); err != unix.EINTR {
			return
		}
	}
}

func (l *link) note(text string) { l.say(sandbox.Message{Kind: sandbox.MsgNote, Text: text}) }

func (l *link) setupFailed(err error) {
	m := sandbox.Message{Kind: sandbox.MsgSetup, Text: "building the walls", Code: errno(err)}
	var step *stepError
	if errors.As(err, &step) {
		m.Text, m.Path = step.step, step.path
		err = step.err
	}
	m.Text += "\x00" + err.Error()
	l.say(m)
}

// receive waits for one message, for one goroutine at a time. A stage allocates little, so
// what it does not reuse stays until four megabytes are full. The supervisor's end closed gives an error.
func (l *link) receive() (sandbox.Message, []int, error) {
	oob := make([]byte, unix.CmsgSpace(8*4))
	n, oobn, _, _, err := unix.Recvmsg(l.fd, l.buf[:], oob, unix.MSG_CMSG_CLOEXEC)
	if err == unix.EINTR {
		return l.receive()
	}
	if err != nil {
		return sandbox.Message{}, nil, err
	}
	if n == 0 {
		return sandbox.Message{}, nil, unix.EPIPE
	}
	m, err := sandbox.DecodeMessage(l.buf[:n])
	return m, sandbox.Rights(oob[:oobn]), err
}
