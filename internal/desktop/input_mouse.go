package desktop

import (
	"context"
	"fmt"
	"image"
	"math"
	"slices"
	"time"
)

// Button is a button of the mouse. 4 to 7 are a wheel's notches, see [Scroll].
type Button uint8

// The buttons that have names.
const (
	Left    Button = 1
	Middle  Button = 2
	Right   Button = 3
	Back    Button = 8
	Forward Button = 9
)

func (b Button) check() error {
	if b >= Left && b <= 5 || b == Back || b == Forward {
		return nil
	}
	return fmt.Errorf("there is no button %d: want 1 (left), 2 (middle), 3 (right), 4, 5 (wheel), 8 (back) or 9 (forward)", b)
}

// Bounds of what one step does.
const (
	// MaxClicks is the most clicks of one [Click].
	MaxClicks = 20
	// MaxNotches is the most notches of one [Scroll].
	MaxNotches   = 200
	maxDragSteps = 1000
)

// clickGap lies between the clicks of a double click, of which some programs drop a second
// one of the same time; notchGap between notches, which browsers otherwise take together.
const clickGap, notchGap = 10 * time.Millisecond, 10 * time.Millisecond

// Move moves the pointer.
type Move struct{ To image.Point }

// Click presses and releases a button, Count times quickly: 2 is a double
// click, 0 counts as 1. At is where, nil where the pointer is. Keys, as
// "ctrl+shift", are held meanwhile.
type Click struct {
	At     *image.Point
	Button Button
	Count  int
	Keys   string
}

// Press holds a button down, until a [Release].
type Press struct {
	At     *image.Point
	Button Button
}

// Release lets a button go.
type Release struct {
	At     *image.Point
	Button Button
}

// Drag presses a button at From, moves to To and releases it. Programs want to
// see the way: it has Moves points (0: one for about ten pixels) and takes For
// (0: a fifth of a second). Keys are held meanwhile.
type Drag struct {
	From, To image.Point
	Button   Button
	Moves    int
	For      time.Duration
	Keys     string
}

// Direction is where a wheel turns to.
type Direction uint8

// The directions, as the numbers of the buttons that a wheel has.
const (
	Up Direction = 4 + iota
	Down
	ToLeft
	ToRight
)

// Scroll turns the wheel by notches. At and Keys are as in [Click].
type Scroll struct {
	At      *image.Point
	To      Direction
	Notches int
	Keys    string
}

func (m Move) check(screen image.Point) error { return inside(m.To, screen) }

func (m Move) run(ctx context.Context, s *hands) error {
	return s.act(ctx, "moving the pointer", func() error { s.fake(motion, 0, m.To); return nil })
}

func checkAt(at *image.Point, screen image.Point) error {
	if at == nil {
		return nil
	}
	return inside(*at, screen)
}

func (c Click) check(screen image.Point) error {
	if c.Count < 0 || c.Count > MaxClicks {
		return fmt.Errorf("%d clicks: want 1 to %d", c.Count, MaxClicks)
	}
	return firstError(c.Button.check(), checkAt(c.At, screen), checkHeld(c.Keys))
}

func firstError(errs ...error) error {
	i := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if i < 0 {
		return nil
	}
	return errs[i]
}

func (c Click) run(ctx context.Context, s *hands) error {
	return s.holding(ctx, c.Keys, func() error {
		for i := range max(1, c.Count) {
			if i > 0 {
				if err := s.wait(ctx, clickGap); err != nil {
					return err
				}
			}
			if err := s.act(ctx, "clicking", func() error {
				if i == 0 && c.At != nil {
					s.fake(motion, 0, *c.At)
				}
				s.fake(buttonPress, byte(c.Button), image.Point{})
				s.fake(buttonRelease, byte(c.Button), image.Point{})
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (p Press) check(screen image.Point) error {
	return firstError(p.Button.check(), checkAt(p.At, screen))
}

func (p Press) run(ctx context.Context, s *hands) error {
	if slices.Contains(s.d.buttons, byte(p.Button)) {
		return fmt.Errorf("button %d is held down already", p.Button)
	}
	return s.button(ctx, "pressing a button", buttonPress, p.At, p.Button)
}

func (r Release) check(screen image.Point) error {
	return firstError(r.Button.check(), checkAt(r.At, screen))
}

func (r Release) run(ctx context.Context, s *hands) error {
	return s.button(ctx, "releasing a button", buttonRelease, r.At, r.Button)
}

func (s *hands) button(ctx context.Context, what string, kind byte, at *image.Point, b Button) error {
	return s.act(ctx, what, func() error {
		if at != nil {
			s.fake(motion, 0, *at)
		}
		s.fake(kind, byte(b), image.Point{})
		return nil
	})
}

func (g Drag) check(screen image.Point) error {
	if g.Moves < 0 || g.Moves > maxDragSteps {
		return fmt.Errorf("a drag with %d moves: want 1 to %d, or 0 for as many as fit", g.Moves, maxDragSteps)
	}
	return firstError(g.Button.check(), inside(g.From, screen), inside(g.To, screen), checkDuration("a drag", g.For), checkHeld(g.Keys))
}

func (g Drag) run(ctx context.Context, s *hands) error {
	dx, dy := g.To.X-g.From.X, g.To.Y-g.From.Y
	moves, took := g.Moves, g.For
	if moves == 0 {
		moves = min(max(int(math.Hypot(float64(dx), float64(dy)))/10, 5), 60)
	}
	if took == 0 {
		took = 200 * time.Millisecond
	}
	return s.holding(ctx, g.Keys, func() error {
		if err := s.button(ctx, "beginning a drag", buttonPress, &g.From, g.Button); err != nil {
			return err
		}
		// A quarter of the time is rest at the end: who drops asks the program
		// below the pointer first, and it answers to the last motion.
		pause := took * 3 / 4 / time.Duration(moves)
		for i := 1; i <= moves; i++ {
			if err := s.wait(ctx, pause); err != nil {
				return err
			}
			p := image.Point{g.From.X + dx*i/moves, g.From.Y + dy*i/moves}
			if err := (Move{p}).run(ctx, s); err != nil {
				return err
			}
		}
		if err := s.wait(ctx, took/4); err != nil {
			return err
		}
		return s.button(ctx, "ending a drag", buttonRelease, nil, g.Button)
	})
}

func (c Scroll) check(screen image.Point) error {
	if c.To < Up || c.To > ToRight {
		return fmt.Errorf("scrolling to %d: want up, down, left or right", c.To)
	}
	if c.Notches < 0 || c.Notches > MaxNotches {
		return fmt.Errorf("scrolling by %d notches: want 0 to %d", c.Notches, MaxNotches)
	}
	return firstError(checkAt(c.At, screen), checkHeld(c.Keys))
}

func (c Scroll) run(ctx context.Context, s *hands) (err error) {
	return s.holding(ctx, c.Keys, func() error {
		if c.At != nil {
			err = Move{*c.At}.run(ctx, s)
		}
		for i := 0; i < c.Notches && err == nil; i++ {
			if err = s.wait(ctx, notchGap*time.Duration(min(i, 1))); err == nil {
				b, here := byte(c.To), image.Point{}
				err = s.act(ctx, "scrolling", func() error { s.fake(buttonPress, b, here); s.fake(buttonRelease, b, here); return nil })
			}
		}
		return err
	})
}
