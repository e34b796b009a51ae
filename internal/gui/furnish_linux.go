package gui

import (
	"context"
	"errors"
	"net"
	"time"

	"carrel/internal/a11y"
	"carrel/internal/api"
	xclient "carrel/internal/desktop"
)

// What a display has besides its server: a window manager, and the name of the
// accessibility bus, without which some programs would not be found there. Programs
// inside wait for both, but not for long; the supervisor's own clients do not.
const (
	furnishTime  = 3 * time.Second
	furnishPause = 5 * time.Millisecond
	managePause  = 3 * time.Second // while a program inside manages the windows
)

// named is the address of the accessibility bus, or why there is none.
type named struct {
	address string
	err     error
}

// furnish waits for the one and sees to the other, and closes the server's furnished.
func (d *display) furnish(s *xserver, bus <-chan named) {
	ctx, cancel := context.WithTimeout(d.ctx, furnishTime)
	defer cancel()
	defer close(s.furnished)
	dial := func(context.Context) (net.Conn, error) { return s.dial() }
	d.wg.Go(func() { d.manage(s, dial) })
	c, err := xclient.Open(ctx, dial, d.cookie)
	if err != nil {
		return
	}
	defer c.Close()
	for there := false; !there && err == nil; {
		if there, err = c.Managed(ctx); !there && err == nil {
			select {
			case <-time.After(furnishPause):
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
	}
	if err != nil && ctx.Err() != nil {
		d.say(api.EventNote, "display %s has no window manager yet", d.Display())
	}
	b := <-bus
	if err = b.err; err == nil {
		err = c.SetRootText(ctx, a11y.RootProperty, b.address)
	}
	if err != nil && !errors.Is(err, errNoBus) && d.ctx.Err() == nil {
		d.say(api.EventNote, "programs on display %s may tell nothing to screen readers: %v", d.Display(), err)
	}
}

// manage has the built-in window manager take the place of one that is not there, or
// has gone: any program may have it replaced, and end then.
func (d *display) manage(s *xserver, dial xclient.Dial) {
	for after := time.Duration(0); ; after = managePause {
		select {
		case <-s.unmanaged:
		case <-s.gone:
			return
		case <-d.ctx.Done():
			return
		}
		select {
		case <-time.After(after):
		case <-s.gone:
			return
		case <-d.ctx.Done():
			return
		}
		err := xclient.Manage(d.ctx, dial, d.cookie, nil)
		if err != nil && after == 0 && !errors.Is(err, xclient.ErrGone) && d.ctx.Err() == nil {
			d.say(api.EventNote, "the built-in window manager ended: %v", err)
		}
	}
}

// findBus asks for the accessibility bus. The session bus has to start it, which takes
// as long as the X server and needs none: so it is asked for beside the server's start.
func (d *display) findBus() <-chan named {
	found := make(chan named, 1)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		found <- named{err: net.ErrClosed}
		return found
	}
	d.wg.Go(func() {
		ctx, cancel := context.WithTimeout(d.ctx, furnishTime)
		defer cancel()
		bus, err := d.buses.accessibility(ctx)
		if err != nil {
			found <- named{err: err}
			return
		}
		defer bus.Close()
		found <- named{address: bus.Address()}
	})
	return found
}
