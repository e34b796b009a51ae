package session

import (
	"errors"
	"slices"
	"sync"

	"carrel/internal/supervisor"
)

// stillness is all that stands still when a workspace is paused: its own walls, and those
// of host commands that come while it may be paused.
type stillness struct {
	mu       sync.Mutex
	freezers []supervisor.Freezer
	brokers  []*brokered
	frozen   bool
	held     bool
}

// add takes in walls; both may be nil.
func (s *stillness) add(f supervisor.Freezer, b *brokered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f != nil {
		s.freezers = append(s.freezers, f)
		if s.frozen {
			_ = f.Freeze() // who has asked for it is told of the workspace's own
		}
	}
	if b != nil {
		s.brokers = append(s.brokers, b)
		if s.held {
			b.Hold(true)
		}
	}
}

// remove forgets walls that are gone.
func (s *stillness) remove(f supervisor.Freezer, b *brokered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen && f != nil {
		_ = f.Thaw() // so that they can end
	}
	s.freezers = slices.DeleteFunc(s.freezers, func(o supervisor.Freezer) bool { return o == f })
	s.brokers = slices.DeleteFunc(s.brokers, func(o *brokered) bool { return o == b })
}

// Freeze implements [supervisor.Freezer].
func (s *stillness) Freeze() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.freezers {
		if err := f.Freeze(); err != nil {
			for _, done := range s.freezers[:i] {
				err = errors.Join(err, done.Thaw())
			}
			return err
		}
	}
	s.frozen = true
	return nil
}

// Thaw implements [supervisor.Freezer].
func (s *stillness) Thaw() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = false
	for _, f := range slices.Backward(s.freezers) {
		err = errors.Join(err, f.Thaw())
	}
	return err
}

// hold keeps all changes waiting, or lets them go.
func (s *stillness) hold(hold bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = hold
	for _, b := range s.brokers {
		b.Hold(hold)
	}
}
