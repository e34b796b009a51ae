package sandbox

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLastWords: how a command has ended is told also by a stage that ends before it
// has read what was sent to it.
func TestLastWords(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := &Walls{control: NewControlSocket(os.NewFile(uintptr(pair[0]), "control"))}
	defer w.control.Close()
	last := Message{Kind: MsgExited, ID: FirstCommand, Signal: int(unix.SIGQUIT)}
	if err := unix.Sendmsg(pair[1], last.Encode(), nil, nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := w.control.Tell(Message{Kind: MsgFlush}); err != nil {
		t.Fatal(err)
	}
	unix.Close(pair[1])
	if m, _, err := w.control.Receive(); err != nil || m != last {
		t.Errorf("%+v, %v", m, err)
	}
	if m, _, err := w.control.Receive(); err != unix.EPIPE {
		t.Errorf("after the last word: %+v, %v", m, err)
	}
}
