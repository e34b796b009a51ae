package stage

import (
	"testing"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// TestBindClosesFirst: when the broker hears of its socket, the stage no longer
// holds it. The last one to close a socket may have to wait.
func TestBindClosesFirst(t *testing.T) {
	var ends, held [2]int
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Pipe2(held[:], unix.O_CLOEXEC)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ends[1])
	defer unix.Close(held[0])
	for err == nil { // nothing more can be said
		err = unix.Sendmsg(ends[0], []byte("x"), nil, nil, unix.MSG_DONTWAIT)
	}
	s := &server{link: newLink(ends[0])}
	said := make(chan struct{})
	go func() {
		s.obey(request{sandbox.Message{Kind: sandbox.MsgBind}, []int{held[1]}})
		close(said)
	}()
	polled := []unix.PollFd{{Fd: int32(held[0]), Events: unix.POLLIN}}
	if n, err := unix.Poll(polled, 5000); n != 1 || err != nil {
		t.Errorf("it is still open: %d, %v", n, err)
	}
	unix.Shutdown(ends[0], unix.SHUT_RDWR)
	<-said
	unix.Close(ends[0])
}
