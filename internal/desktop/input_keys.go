package desktop

import (
	"context"
	"errors"
	"fmt"
	"image"
	"slices"
	"time"

	"carrel/internal/keysym"
)

// Keys presses keys by name: "Return", "ctrl+shift+t", or several with spaces
// between them, one after the other. Times repeats all of it (0 counts as 1).
// Hold is how long each chord is held down; the server repeats a key that is
// held, as on a keyboard.
type Keys struct {
	Keys  string
	Times int
	Hold  time.Duration
}

const maxKeyTimes = 100

func (k Keys) check(image.Point) error {
	if k.Times < 0 || k.Times > maxKeyTimes {
		return fmt.Errorf("keys %.60q %d times: want 1 to %d", k.Keys, k.Times, maxKeyTimes)
	}
	_, err := keysym.ParseKeys(k.Keys)
	return firstError(err, checkDuration("holding a key", k.Hold))
}

func (k Keys) run(ctx context.Context, s *hands) error {
	chords, err := keysym.ParseKeys(k.Keys)
	if err != nil {
		return err
	}
	for range max(1, k.Times) {
		for _, c := range chords {
			if err := s.press(ctx, c); err != nil {
				return err
			}
			if err := s.wait(ctx, k.Hold); err != nil {
				return err
			}
			if err := s.act(ctx, "releasing a key", s.letGo); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkHeld checks keys that are held during something else: one chord.
func checkHeld(keys string) error {
	if keys == "" {
		return nil
	}
	_, err := keysym.ParseChord(keys)
	return err
}

// holding runs f while keys are down.
func (s *hands) holding(ctx context.Context, keys string, f func() error) error {
	if keys == "" {
		if err := s.d.do(ctx, "looking at the keyboard", s.ready); err != nil {
			return err
		}
		return f()
	}
	c, err := keysym.ParseChord(keys)
	if err != nil {
		return err
	}
	if err := s.press(ctx, c); err != nil {
		return err
	}
	return errors.Join(f(), s.act(ctx, "releasing the keys that were held", s.letGo))
}

// press presses the keys of a chord in order, Shift before them if one needs it.
func (s *hands) press(ctx context.Context, c keysym.Chord) error {
	if err := s.d.do(ctx, "looking at the keyboard", s.ready); err != nil {
		return err
	}
	if err := s.show(ctx, c); err != nil {
		return err
	}
	return s.act(ctx, "pressing a key", func() error {
		k := s.d.keys
		needShift := slices.ContainsFunc(c, func(sym keysym.Sym) bool { return k.at[sym].shift })
		if needShift && !slices.Contains(c, keysym.Shift) {
			s.fake(keyPress, k.shift, image.Point{})
		}
		for _, sym := range c {
			s.mu.Lock()
			if code := k.at[sym].code; !s.ended {
				k.used(code)
				s.send(keyPress, code, image.Point{})
			}
			s.mu.Unlock()
		}
		return nil
	})
}

// letGo releases all keys that this batch holds, the last first.
func (s *hands) letGo() error {
	s.mu.Lock()
	down := slices.Clone(s.keys)
	s.mu.Unlock()
	for _, code := range slices.Backward(down) {
		s.fake(keyRelease, code, image.Point{})
	}
	return nil
}
