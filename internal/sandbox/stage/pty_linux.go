package stage

import (
	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// newPty makes a pseudoterminal of the workspace's own: programs inside find its
// name, and nobody outside has one.
func (s *server) newPty(id uint64) {
	near, far, err := sandbox.OpenPty()
	if err != nil {
		s.link.say(sandbox.Message{Kind: sandbox.MsgPty, ID: id, Code: errno(err)})
		return
	}
	s.link.say(sandbox.Message{Kind: sandbox.MsgPty, ID: id}, near, far)
	unix.Close(near)
	unix.Close(far)
}
