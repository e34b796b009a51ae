package desktop

import (
	"context"
	"fmt"
	"image"
	"slices"
	"sync"
	"time"

	"github.com/jezek/xgb/xproto"
	"github.com/jezek/xgb/xtest"
)

// The events that XTEST makes, by their numbers in the core protocol.
const (
	keyPress      = 2
	keyRelease    = 3
	buttonPress   = 4
	buttonRelease = 5
	motion        = 6
)

// hands is one batch of input while it runs.
type hands struct {
	d      *inputDevice
	before []byte // buttons that were held when the batch began

	// A call that was cancelled may still be at work behind our back (see
	// display.do). Once the batch has ended nothing of it gets through.
	mu     sync.Mutex
	ended  bool
	keys   []byte // that are down, in order
	aside  []byte // modifiers of somebody else, released for now
	capsOn bool   // Caps Lock was on, and is off for now
	free   bool   // the two above are known
	mapped bool   // the map of the keys was asked for in this batch
	silent bool   // keys do not repeat for now
}

// fake sends one event, unless the batch has ended.
func (s *hands) fake(kind, detail byte, p image.Point) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.send(kind, detail, p)
	}
}

// send keeps the lists of what is down. The lock is held.
func (s *hands) send(kind, detail byte, p image.Point) {
	switch kind {
	case keyPress:
		s.keys = append(s.keys, detail)
	case keyRelease:
		s.keys = without(s.keys, detail)
	case buttonPress:
		s.d.buttons = append(s.d.buttons, detail)
	case buttonRelease:
		s.d.buttons = without(s.d.buttons, detail)
	}
	xtest.FakeInput(s.d.x, kind, detail, 0, s.d.root, int16(p.X), int16(p.Y), 0)
}

func without(list []byte, b byte) []byte {
	return slices.DeleteFunc(list, func(x byte) bool { return x == b })
}

// act runs f, which sends events, and waits until the server has taken them.
func (s *hands) act(ctx context.Context, what string, f func() error) error {
	return s.d.do(ctx, what, func() error {
		if err := f(); err != nil {
			return err
		}
		return s.d.roundTrip()
	})
}

// wait sleeps, but not longer than the context and the display last.
func (s *hands) wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting %v: %w", d, ctx.Err())
	case <-s.d.gone:
		return ErrGone
	}
}

// ready learns the keys and puts aside what somebody else holds, once in a
// batch, before the first key or click. It runs within act or do.
func (s *hands) ready() error {
	if !s.mapped {
		k, err := s.d.learnKeys(s.d.keys)
		if err != nil {
			return err
		}
		s.mu.Lock()
		if s.mapped = true; !s.ended {
			s.d.keys = k
		}
		s.mu.Unlock()
	}
	if s.free {
		return nil
	}
	down, pointer := xproto.QueryKeymap(s.d.x), xproto.QueryPointer(s.d.x, s.d.root)
	r, err := down.Reply()
	if err != nil {
		return fmt.Errorf("asking which keys are down: %w", err)
	}
	p, err := pointer.Reply()
	if err != nil {
		return fmt.Errorf("asking for the modifiers: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	s.free = true
	k := s.d.keys
	for code := range k.mods {
		if r.Keys[code/8]&(1<<(code%8)) != 0 && code != k.caps && !slices.Contains(s.keys, code) {
			s.aside = append(s.aside, code)
		}
	}
	slices.Sort(s.aside)
	for _, code := range s.aside {
		xtest.FakeInput(s.d.x, keyRelease, code, 0, s.d.root, 0, 0, 0)
	}
	if p.Mask&xproto.ModMaskLock != 0 && k.mods[k.caps]&xproto.ModMaskLock != 0 {
		s.capsOn = true
		s.strike(k.caps)
	}
	return nil
}

// strike presses a key and releases it. The lock is held.
func (s *hands) strike(code byte) {
	s.send(keyPress, code, image.Point{})
	s.send(keyRelease, code, image.Point{})
}

// mute stops the repeating of keys that are held: a server that gets no
// release for half a second, because this machine is busy, makes many of one.
func (s *hands) mute() error {
	if s.silent {
		return nil
	}
	r, err := xproto.GetKeyboardControl(s.d.x).Reply()
	if err != nil {
		return fmt.Errorf("asking for the repeating of keys: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || r.GlobalAutoRepeat != xproto.AutoRepeatModeOn {
		return nil
	}
	s.silent = true
	xproto.ChangeKeyboardControl(s.d.x, xproto.KbAutoRepeatMode, []uint32{xproto.AutoRepeatModeOff})
	return nil
}

// loud is the opposite of mute. The lock is held.
func (s *hands) loud() {
	if s.silent {
		s.silent = false
		xproto.ChangeKeyboardControl(s.d.x, xproto.KbAutoRepeatMode, []uint32{xproto.AutoRepeatModeOn})
	}
}

// end releases all that is down and brings back what was put aside. It does so
// also when the batch's context has ended.
func (s *hands) end(ctx context.Context, failed bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return s.act(ctx, "releasing keys and buttons", func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended = true
		for _, code := range slices.Backward(slices.Clone(s.keys)) {
			s.send(keyRelease, code, image.Point{})
		}
		if failed {
			for _, b := range slices.Backward(slices.Clone(s.d.buttons)) {
				if !slices.Contains(s.before, b) {
					s.send(buttonRelease, b, image.Point{})
				}
			}
		}
		s.loud()
		if s.capsOn {
			s.strike(s.d.keys.caps)
		}
		for _, code := range s.aside {
			xtest.FakeInput(s.d.x, keyPress, code, 0, s.d.root, 0, 0, 0)
		}
		return nil
	})
}
