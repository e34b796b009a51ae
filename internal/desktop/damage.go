package desktop

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"time"

	"carrel/internal/picture"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/damage"
	"github.com/jezek/xgb/xproto"
)

// screenWatch waits for the screen to change, or to be still, and records it.
type screenWatch struct{ shots }

// painted has the server tell when something is painted in an area of the
// screen, the empty one being all of it. s is raised for each round of
// painting; nothing is asked of the server in between.
func (d *screenWatch) painted(ctx context.Context, area image.Rectangle) (s signal, stop func(), err error) {
	id, err := do(ctx, d.display, "watching the screen", func() (damage.Damage, error) {
		if _, err := d.opcode("DAMAGE"); err != nil {
			return 0, err
		}
		return damage.NewDamageId(d.x)
	})
	if err != nil {
		return nil, nil, err
	}
	s = make(signal, 1)
	rearm := make(signal, 1)
	unlisten := d.listen(func(e xgb.Event) {
		n, ok := e.(damage.NotifyEvent)
		if !ok || n.Damage != id {
			return
		}
		rearm.raise()
		r := image.Rect(0, 0, int(n.Area.Width), int(n.Area.Height)).Add(image.Pt(int(n.Area.X), int(n.Area.Y)))
		if area.Empty() || r.Overlaps(area) {
			s.raise()
		}
	})
	if err := d.do(ctx, "watching the screen", func() error {
		return damage.CreateChecked(d.x, id, xproto.Drawable(d.root), damage.ReportLevelBoundingBox).Check()
	}); err != nil {
		unlisten()
		return nil, nil, err
	}
	quit := make(chan struct{})
	go d.rearm(id, rearm, quit)
	return s, func() { unlisten(); close(quit) }, nil
}

// rearm empties a damage after each report: the server only reports when it
// grows. It is also who ends it.
func (d *screenWatch) rearm(id damage.Damage, again signal, quit <-chan struct{}) {
	for {
		select {
		case <-again:
			damage.Subtract(d.x, id, 0, 0)
			select {
			case <-time.After(calm):
			case <-quit:
			}
		case <-quit:
			damage.Destroy(d.x, id)
			return
		case <-d.gone:
			return
		}
	}
}

// WaitIdle waits until nothing was painted in an area of the screen for a time.
// The empty area is the whole screen. A blinking cursor is never idle.
func (d *screenWatch) WaitIdle(ctx context.Context, area image.Rectangle, quiet time.Duration) error {
	what := fmt.Sprintf("waiting for a screen that is still for %v", quiet)
	if quiet <= 0 {
		return fmt.Errorf("%s: the time has to be more than nothing", what)
	}
	s, stop, err := d.painted(ctx, area)
	if err != nil {
		return d.timeout(what, err)
	}
	defer stop()
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	for {
		select {
		case <-s:
			timer.Reset(quiet)
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return d.timeout(what, ctx.Err())
		case <-d.gone:
			return fmt.Errorf("%s: %w", what, ErrGone)
		}
	}
}

// Pixels says what is waited for in an area. Exactly one of the others is set.
type Pixels struct {
	Window ID              // whose coordinates Area has; 0 for the screen
	Area   image.Rectangle // the empty one means everything
	// NotToken waits until the pixels are others than those of a picture of the
	// same area, Token until they are the same again.
	NotToken, Token string
	// Colour waits until all pixels have it.
	Colour *color.RGBA
}

// WaitPixels waits until an area looks as described and gives the token of its
// pixels.
func (d *screenWatch) WaitPixels(ctx context.Context, p Pixels) (token string, err error) {
	what := "waiting for pixels"
	conditions := 0
	for _, set := range []bool{p.NotToken != "", p.Token != "", p.Colour != nil} {
		if set {
			conditions++
		}
	}
	if conditions != 1 {
		return "", fmt.Errorf("%s: one of token, not token and colour is needed, not %d", what, conditions)
	}
	s, stop, err := d.painted(ctx, image.Rectangle{})
	if err != nil {
		return "", d.timeout(what, err)
	}
	defer stop()
	for {
		ok, token, err := d.look(ctx, p)
		if err != nil {
			return "", d.timeout(what, err)
		}
		if ok {
			return token, nil
		}
		if err := errors.Join(d.sleep(ctx, calm, nil), d.sleep(ctx, 0, s)); err != nil {
			return "", d.timeout(what, err)
		}
	}
}

func (d *screenWatch) look(ctx context.Context, p Pixels) (bool, string, error) {
	type answer struct {
		ok    bool
		token string
	}
	a, err := do(ctx, d.display, "looking at the screen", func() (a answer, err error) {
		err = d.withPixels(Shot{Window: p.Window, Area: p.Area}, func(f picture.Frame, _ image.Rectangle) error {
			a.token = f.Token()
			switch {
			case p.Colour != nil:
				a.ok = f.All(*p.Colour)
			case p.Token != "":
				a.ok = a.token == p.Token
			default:
				a.ok = a.token != p.NotToken
			}
			return nil
		})
		return a, err
	})
	return a.ok, a.token, err
}
