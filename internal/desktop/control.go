package desktop

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jezek/xgb/xproto"
)

// Where there is a window manager it is asked, as a taskbar would; where there
// is none the window is changed as a window manager would. A window manager
// answers to nobody, so what has an effect that can be seen is
// waited for.

// windowControl changes windows.
type windowControl struct{ windowList }

// settleTime is how long a window manager may take to do what it was asked.
const settleTime = 2 * time.Second

// Focus shows a window, raises it and gives it the keyboard, and returns when
// it has it.
func (d *windowControl) Focus(ctx context.Context, id ID) error {
	return d.change(ctx, "focusing", id, func(s stack, w xproto.Window) error {
		if s.managed {
			// From a pager, so that it is not held for a program that pushes
			// itself forward.
			const pager = 2
			return d.tellRoot(w, "_NET_ACTIVE_WINDOW", pager, xproto.TimeCurrentTime, 0, 0, 0)
		}
		if err := d.show(w); err != nil {
			return err
		}
		return xproto.SetInputFocusChecked(d.x, xproto.InputFocusPointerRoot, w, xproto.TimeCurrentTime).Check()
	}, func(w Window) bool { return w.Active && !w.Minimised })
}

// Raise puts a window over all others; the keyboard stays where it is.
func (d *windowControl) Raise(ctx context.Context, id ID) error {
	return d.change(ctx, "raising", id, func(s stack, w xproto.Window) error {
		return xproto.ConfigureWindowChecked(d.x, w, xproto.ConfigWindowStackMode, []uint32{xproto.StackModeAbove}).Check()
	}, nil)
}

// The range of coordinates and sizes that X knows.
const (
	minPlace, maxPlace = -32768, 32767
	maxSize            = 32767
)

// Move puts the upper left corner of a window, without its frame, to a place
// in the screen's coordinates. A window manager may keep it on the screen.
func (d *windowControl) Move(ctx context.Context, id ID, x, y int) error {
	if x < minPlace || x > maxPlace || y < minPlace || y > maxPlace {
		return fmt.Errorf("moving %s to %d,%d: coordinates are from %d to %d", id, x, y, minPlace, maxPlace)
	}
	return d.configure(ctx, "moving", id, xproto.ConfigWindowX|xproto.ConfigWindowY, [4]int{x, y, 0, 0})
}

// Resize gives a window a size without its frame, in pixels. Programs may
// round it: terminals to whole characters.
func (d *windowControl) Resize(ctx context.Context, id ID, w, h int) error {
	if w < 1 || w > maxSize || h < 1 || h > maxSize {
		return fmt.Errorf("resizing %s to %dx%d: a size is from 1x1 to %dx%d", id, w, h, maxSize, maxSize)
	}
	return d.configure(ctx, "resizing", id, xproto.ConfigWindowWidth|xproto.ConfigWindowHeight, [4]int{0, 0, w, h})
}

func (d *windowControl) configure(ctx context.Context, what string, id ID, which uint16, to [4]int) error {
	return d.change(ctx, what, id, func(s stack, w xproto.Window) error {
		if s.managed {
			return d.askManager(w, which, to)
		}
		// X places windows by the corner of their border, which few have.
		g, err := xproto.GetGeometry(d.x, xproto.Drawable(w)).Reply()
		if err != nil {
			return err
		}
		to[0] = max(minPlace, to[0]-int(g.BorderWidth))
		to[1] = max(minPlace, to[1]-int(g.BorderWidth))
		var values []uint32
		for i, v := range to {
			if which&(1<<i) != 0 {
				values = append(values, uint32(int32(v)))
			}
		}
		return xproto.ConfigureWindowChecked(d.x, w, which, values).Check()
	}, nil)
}

// askManager has the window manager move or resize a window. It is told the place of the
// frame: asked for that of the window itself (static gravity), openbox counts the border
// in that the window once had.
func (d *windowControl) askManager(w xproto.Window, which uint16, to [4]int) error {
	p, err := d.property(w, "_NET_FRAME_EXTENTS", 4*4)
	if err != nil {
		return err
	}
	if frame := p.numbers(); len(frame) == 4 {
		to[0] = max(minPlace, to[0]-int(min(frame[0], maxPlace))) // left
		to[1] = max(minPlace, to[1]-int(min(frame[2], maxPlace))) // top
	}
	// Bits 8 to 11 say which of the four are meant, 12 to 15 who asks.
	const northWest, pager = 1, 2
	flags := uint32(northWest) | uint32(which)<<8 | pager<<12
	return d.tellRoot(w, "_NET_MOVERESIZE_WINDOW", flags, uint32(int32(to[0])), uint32(int32(to[1])), uint32(to[2]), uint32(to[3]))
}

// Minimise takes a window off the screen; Show brings it back.
func (d *windowControl) Minimise(ctx context.Context, id ID) error {
	return d.change(ctx, "minimising", id, func(s stack, w xproto.Window) error {
		if s.managed {
			return d.tellRoot(w, "WM_CHANGE_STATE", iconicState, 0, 0, 0, 0)
		}
		d.setState(w, iconicState)
		return xproto.UnmapWindowChecked(d.x, w).Check()
	}, func(w Window) bool { return w.Minimised })
}

// Show brings a window back that was minimised, over the others.
func (d *windowControl) Show(ctx context.Context, id ID) error {
	return d.change(ctx, "showing", id, func(s stack, w xproto.Window) error {
		return d.show(w)
	}, func(w Window) bool { return !w.Minimised && !w.Hidden })
}

// The states of a window in ICCCM, section 4.1.3.1.
const (
	normalState = 1
	iconicState = 3
)

func (d *windowControl) show(w xproto.Window) error {
	if a, err := xproto.GetWindowAttributes(d.x, w).Reply(); err != nil {
		return err
	} else if a.MapState == xproto.MapStateUnmapped {
		d.setState(w, normalState)
		if err := xproto.MapWindowChecked(d.x, w).Check(); err != nil {
			return err
		}
	}
	return xproto.ConfigureWindowChecked(d.x, w, xproto.ConfigWindowStackMode, []uint32{xproto.StackModeAbove}).Check()
}

func (d *windowControl) setState(w xproto.Window, state uint32) {
	value := binary.LittleEndian.AppendUint32(nil, state)
	value = append(value, 0, 0, 0, 0) // no icon window
	xproto.ChangeProperty(d.x, xproto.PropModeReplace, w, d.atom("WM_STATE"), d.atom("WM_STATE"), 32, 2, value)
}

// CloseWindow asks a program to close a window, as the button in its corner
// does. The program may ask its user first, so the window may stay: Wait tells.
// A program that takes no part in this is an error; Kill ends it.
func (d *windowControl) CloseWindow(ctx context.Context, id ID) error {
	return d.change(ctx, "closing", id, func(s stack, w xproto.Window) error {
		p, err := d.property(w, "WM_PROTOCOLS", 4*64)
		if err != nil {
			return err
		}
		if !slices.Contains(p.numbers(), uint32(d.atom("WM_DELETE_WINDOW"))) {
			return errors.New("the program does not let itself be asked to close this window; it can be killed")
		}
		return d.tell(w, w, "WM_PROTOCOLS", 0, [5]uint32{uint32(d.atom("WM_DELETE_WINDOW")), xproto.TimeCurrentTime})
	}, nil)
}

// Kill cuts off the program that made a window, with all its windows. Work that
// it has not saved is lost.
func (d *windowControl) Kill(ctx context.Context, id ID) error {
	return d.change(ctx, "killing", id, func(s stack, w xproto.Window) error {
		return xproto.KillClientChecked(d.x, uint32(w)).Check()
	}, nil)
}

// change makes one change to a top-level window. With done set it waits until
// the window is so.
func (d *windowControl) change(ctx context.Context, what string, id ID, f func(stack, xproto.Window) error, done func(Window) bool) error {
	what = what + " " + id.String()
	err := d.do(ctx, what, func() error {
		s, err := d.stack()
		if err != nil {
			return err
		}
		w := xproto.Window(id)
		if !slices.Contains(s.clients, w) && !slices.Contains(s.children, w) {
			return noWindow(id)
		}
		if err := f(s, w); isX(err) {
			return fmt.Errorf("it closed meanwhile, or does not allow it: %w", err)
		} else if err != nil {
			return err
		}
		d.x.Sync()
		return nil
	})
	if err != nil || done == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	return d.watch(ctx, what, func(list []Window) (bool, error) {
		for _, w := range list {
			if w.ID == id {
				return done(w), nil
			}
		}
		return false, noWindow(id)
	})
}
