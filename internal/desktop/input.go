package desktop

import (
	"context"
	"errors"
	"fmt"
	"image"
	"slices"
	"time"

	"github.com/jezek/xgb/xproto"
)

// Input is one thing that a person does with mouse or keyboard: [Move],
// [Click], [Press], [Release], [Drag], [Scroll], [Keys], [Text] or [Pause]. Points
// are pixels of the screen; 0,0 is its left upper corner.
type Input interface {
	// check looks at what was given, before anything is done.
	check(screen image.Point) error
	run(ctx context.Context, s *hands) error
}

// InputError is an error of one input. Those before it were done, those after it
// were not begun.
type InputError struct {
	Index int // counted from 0
	Err   error
}

func (e *InputError) Error() string { return fmt.Sprintf("input %d: %v", e.Index+1, e.Err) }

// Unwrap gives the error itself.
func (e *InputError) Unwrap() error { return e.Err }

// maxInputs bounds one batch.
const maxInputs = 1000

// inputDevice is the mouse and the keyboard. Its own is what stays between two batches.
type inputDevice struct {
	*display
	turn    chan struct{} // held by the batch that runs
	keys    *keymap
	buttons []byte // pressed by Press and not released yet, in order
}

// Input does inputs one after the other and returns when the server has taken
// the last. All are checked first: a batch with a mistake does nothing.
// The first error ends it, as a [*InputError]. Two batches never mix.
//
// At the end, also after an error or when the context ends, all keys are
// released; buttons that [Press] holds stay down until a [Release], unless the
// batch failed. Modifiers that somebody else holds, and Caps Lock, are put
// aside and come back at the end.
//
// That the server has taken the input does not say that a program has read it
// already.
func (d *inputDevice) Input(ctx context.Context, steps ...Input) (err error) {
	if len(steps) > maxInputs {
		return fmt.Errorf("%d inputs in one batch: at most %d", len(steps), maxInputs)
	}
	if _, err := d.opcode("XTEST"); err != nil {
		return fmt.Errorf("sending input: %w", err)
	}
	screen, err := d.extent(ctx)
	if err != nil {
		return err
	}
	for i, step := range steps {
		if err := step.check(screen); err != nil {
			return &InputError{i, err}
		}
	}
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return fmt.Errorf("waiting for other input to end: %w", ctx.Err())
	case <-d.gone:
		return ErrGone
	}
	s := &hands{d: d, before: slices.Clone(d.buttons)}
	defer func() { err = errors.Join(err, s.end(ctx, err != nil)) }()
	for i, step := range steps {
		if err := step.run(ctx, s); err != nil {
			return &InputError{i, err}
		}
	}
	return nil
}

// LetGo releases all keys and buttons that are down, whoever presses them: for when
// somebody else takes over.
func (d *inputDevice) LetGo(ctx context.Context) error { return d.Input(ctx, letGoAll{}) }

type letGoAll struct{}

func (letGoAll) check(image.Point) error { return nil }

func (letGoAll) run(ctx context.Context, s *hands) error {
	return s.act(ctx, "releasing keys and buttons", func() error {
		keys, pointer := xproto.QueryKeymap(s.d.x), xproto.QueryPointer(s.d.x, s.d.root)
		down, err := keys.Reply()
		if err != nil {
			return err
		}
		p, err := pointer.Reply()
		if err != nil {
			return err
		}
		for code := range 8 * len(down.Keys) {
			if down.Keys[code/8]&(1<<(code%8)) != 0 {
				s.fake(keyRelease, byte(code), image.Point{})
			}
		}
		buttons := slices.Clone(s.before)
		for b := byte(1); b <= 5; b++ { // of the others the mask says nothing
			if p.Mask&(xproto.ButtonMask1<<(b-1)) != 0 && !slices.Contains(buttons, b) {
				buttons = append(buttons, b)
			}
		}
		for _, b := range slices.Backward(buttons) {
			s.fake(buttonRelease, b, image.Point{})
		}
		return nil
	})
}

// inside checks that a point is on the screen.
func inside(p, screen image.Point) error {
	if p.X < 0 || p.Y < 0 || p.X >= screen.X || p.Y >= screen.Y {
		return fmt.Errorf("%d,%d is not on the screen, which is %dx%d: x from 0 to %d, y from 0 to %d", p.X, p.Y, screen.X, screen.Y, screen.X-1, screen.Y-1)
	}
	return nil
}

// Pause waits, at most [MaxHold].
type Pause struct{ For time.Duration }

// MaxHold is the longest time of one step, to wait or to hold a key.
const MaxHold = 100 * time.Second

func checkDuration(what string, d time.Duration) error {
	if d < 0 || d > MaxHold {
		return fmt.Errorf("%s of %v: want 0 to %v", what, d, MaxHold)
	}
	return nil
}

func (p Pause) check(image.Point) error { return checkDuration("a pause", p.For) }

func (p Pause) run(ctx context.Context, s *hands) error { return s.wait(ctx, p.For) }
