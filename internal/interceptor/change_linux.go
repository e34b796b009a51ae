package interceptor

import (
	"errors"
	"sync"

	"carrel/internal/broker"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// maxRaces is how often a request begins again because something else has taken a name.
const maxRaces = 40

var errAlone = errors.New("to be decided while nothing else changes")

// act is one request that changes something, while what it looked at stays so.
type act struct {
	s       *Server
	by      uint32 // see Config.Labels
	alone   bool   // nothing else changes meanwhile
	decides bool   // and that was asked for, see broker.Verdict.Alone
	wait    func(func())
}

// acting runs a request that changes something: alone where it can bring anything anywhere,
// or where a decision asks for that. by is who asks, as the request says.
func (s *Server) acting(by uint32, alone bool, do func(a *act) error) fuse.Status {
	err := error(unix.ESTALE)
	for n := 0; errors.Is(err, unix.ESTALE) && n < maxRaces; n++ {
		err = s.locked(&act{s: s, by: by, alone: alone}, do)
		if err == errAlone {
			err = s.locked(&act{s: s, by: by, alone: true, decides: true}, do)
		}
	}
	return status(err)
}

func (s *Server) locked(a *act, do func(a *act) error) error {
	var still sync.Locker = s.still.RLocker()
	if a.alone {
		still = &s.still
	}
	for still.Lock(); s.gate.isShut(); still.Lock() {
		still.Unlock()
		s.gate.wait()
	}
	defer still.Unlock()
	if s.closed.Load() {
		return unix.ENODEV
	}
	if a.decides && s.config.Alone != nil {
		over, err := s.config.Alone()
		if err != nil {
			return err
		}
		defer over()
	}
	a.wait = func(do func()) {
		still.Unlock()
		defer still.Lock()
		do()
	}
	return do(a)
}

// change decides, records and carries out, in this order.
func (a *act) change(ch *broker.Change, do func() error) error {
	v, err := a.decide(ch)
	if err != nil {
		return err
	}
	if !v.Allowed || v.Vet != nil {
		return a.refuse(ch, v)
	}
	return a.carryOut(ch, do)
}

// decide gives the decision; errAlone says that it has to be made while nothing changes.
func (a *act) decide(ch *broker.Change) (broker.Verdict, error) {
	v := a.s.config.Decider.Decide(ch)
	if v.Alone && !a.decides {
		return v, errAlone
	}
	return v, nil
}

// carryOut records and makes a change that has been decided.
func (a *act) carryOut(ch *broker.Change, do func() error) error {
	ch.Wait = a.wait
	if a.s.config.Labels {
		ch.Label = uint64(a.by)
	}
	if err := a.s.config.Recorder.Before(ch); err != nil {
		var e unix.Errno
		if errors.As(err, &e) {
			return e
		}
		return unix.EIO
	}
	err := do()
	a.s.config.Recorder.After(ch, err)
	return err
}

func (a *act) refuse(ch *broker.Change, v broker.Verdict) error {
	if v.Vet != nil && v.Allowed {
		v.Allowed, v.Vet = false, nil
		v.Rule += ": its content may change, by a write or a rename, and nothing else"
	}
	if a.s.config.Refused != nil {
		a.s.config.Refused(ch, v)
	}
	return unix.EACCES
}

// mayRead decides whether what is at a place may be opened for reading.
func (s *Server) mayRead(p *place) error {
	ch := p.changeOf(broker.OpRead)
	v := s.config.Decider.Decide(&ch)
	if v.Allowed {
		return nil
	}
	if s.config.Refused != nil {
		s.config.Refused(&ch, v)
	}
	return unix.EACCES
}

// standIn is what is shown of a file in place of its content, nil for its content.
func (s *Server) standIn(path string) []byte {
	if path == "" || s.config.StandIn == nil {
		return nil
	}
	return s.config.StandIn(path)
}

func (s *Server) masked(path string) bool {
	return path != "" && s.config.Masked != nil && s.config.Masked(path)
}
