package session

import (
	"carrel/internal/broker"
	"carrel/internal/sandbox"
	"carrel/internal/seccomp"

	"golang.org/x/sys/unix"
)

// hands change modes, owners, times and attributes for commands that Landlock
// holds: it does not see these, so that the filter stops them all, and they are
// carried out where files may be written. Nothing is recorded.
type hands struct {
	broker *broker.Broker
	fds    []int
}

func startHands(walls *sandbox.Walls) (*hands, error) {
	taken, err := walls.TakeBroker()
	if err != nil {
		return nil, err
	}
	h := &hands{fds: []int{taken.Mirror, taken.View, taken.Grants}}
	listener, err := seccomp.NewListener(taken.Listener)
	if err == nil {
		h.broker, err = broker.New(broker.Config{
			Trap: trap{listener}, Mirror: taken.Mirror, View: taken.View, Grants: taken.Grants, MountNS: taken.MountNS, Roots: walls.Written,
			Decider: everything{}, Recorder: everything{}, Refused: func(*broker.Change, broker.Verdict) {}, Umask: ownUmask(), Bind: walls.Bind, Bare: true,
		})
	}
	if err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// close ends the hands; h may be nil.
func (h *hands) close() {
	if h == nil {
		return
	}
	if h.broker != nil {
		h.broker.Close()
	}
	for _, fd := range h.fds {
		unix.Close(fd)
	}
	h.broker, h.fds = nil, nil
}

// everything that the broker asks about lies where files may be written.
type everything struct{}

// Decide implements [broker.Decider].
func (everything) Decide(*broker.Change) broker.Verdict { return broker.Verdict{Allowed: true} }

// Before implements [broker.Recorder].
func (everything) Before(*broker.Change) error { return nil }

// After implements [broker.Recorder].
func (everything) After(*broker.Change, error) {}
