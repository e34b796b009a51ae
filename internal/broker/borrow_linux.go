package broker

import (
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"carrel/internal/broker/caller"
)

// maxBorrowed is how many descriptors of callers may be held at once, those that
// are still being closed among them.
const maxBorrowed = 16

// borrow is duplicate for a descriptor that giveBack takes.
func (b *Broker) borrow(tid uint32, fd int32) (int, error) {
	select {
	case b.borrowed <- struct{}{}:
	default:
		return -1, unix.ENOBUFS
	}
	n, err := caller.Duplicate(tid, fd)
	if err != nil {
		<-b.borrowed
	}
	return n, err
}

// giveBack closes what was borrowed. By now the caller may have closed its own,
// and the last of a connection closes for as long as its SO_LINGER says, or that
// of one in the messages that a socket holds: nobody else waits for that.
func (b *Broker) giveBack(fd int) {
	closed := make(chan struct{})
	go func() {
		unix.Close(fd)
		<-b.borrowed
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(round):
	}
}

// pinBorrowed is callerFD by a copy of the descriptor.
func (b *Broker) pinBorrowed(tid uint32, fd int32) (int, error) {
	own, err := b.borrow(tid, fd)
	if err != nil {
		return -1, err
	}
	defer b.giveBack(own)
	return unix.Openat(b.self, strconv.Itoa(own), unix.O_PATH|unix.O_CLOEXEC, 0)
}
