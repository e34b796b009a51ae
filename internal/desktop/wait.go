package desktop

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// Match describes windows. All that is set has to fit; nothing set fits every
// window.
type Match struct {
	ID           ID
	Title, Class *regexp.Regexp // found anywhere in it; Class in the instance too
	PID          int
	// All looks at override-redirect windows too.
	All bool
	// Also is one more condition; nil is none.
	Also func(Window) bool
}

// maxPattern bounds a regular expression, in bytes.
const maxPattern = 1024

// Pattern reads a regular expression for a Match (RE2 syntax, at most 1024
// bytes); the empty one is nil.
func Pattern(s string) (*regexp.Regexp, error) {
	if s == "" {
		return nil, nil
	}
	if len(s) > maxPattern {
		return nil, fmt.Errorf("a pattern for windows has at most %d bytes, this one has %d", maxPattern, len(s))
	}
	return regexp.Compile(s)
}

// Fits says whether a window is one of those described.
func (m Match) Fits(w Window) bool {
	return (m.ID == 0 || m.ID == w.ID) &&
		(m.PID == 0 || m.PID == w.PID) &&
		(m.Title == nil || m.Title.MatchString(w.Title)) &&
		(m.Class == nil || m.Class.MatchString(w.Class) || m.Class.MatchString(w.Instance)) &&
		!w.Hidden && (m.Also == nil || m.Also(w))
}

// Wait waits for a window and gives the topmost that fits. The context says how
// long.
func (d *windowList) Wait(ctx context.Context, m Match) (Window, error) {
	var found Window
	err := d.watchAll(ctx, "waiting for a window", m.All, func(list []Window) (bool, error) {
		for _, w := range list {
			if m.Fits(w) {
				found = w
				return true, nil
			}
		}
		return false, nil
	})
	return found, err
}

// WaitGone waits until no window fits any more.
func (d *windowList) WaitGone(ctx context.Context, m Match) error {
	return d.watchAll(ctx, "waiting for a window to close", m.All, func(list []Window) (bool, error) {
		for _, w := range list {
			if m.Fits(w) {
				return false, nil
			}
		}
		return true, nil
	})
}

func (d *windowList) watch(ctx context.Context, what string, enough func([]Window) (bool, error)) error {
	return d.watchAll(ctx, what, true, enough)
}

// calm is the least time between two looks, so that a flood of events does not
// become a flood of questions.
const calm = 10 * time.Millisecond

// watchAll looks at the windows whenever something about them has changed,
// until enough is.
func (d *windowList) watchAll(ctx context.Context, what string, all bool, enough func([]Window) (bool, error)) error {
	changed := make(signal, 1)
	stop := d.listen(func(e xgb.Event) {
		switch e.(type) {
		case xproto.PropertyNotifyEvent, xproto.MapNotifyEvent, xproto.UnmapNotifyEvent, xproto.CreateNotifyEvent, xproto.DestroyNotifyEvent,
			xproto.ReparentNotifyEvent, xproto.ConfigureNotifyEvent, xproto.FocusInEvent, xproto.FocusOutEvent:
			changed.raise()
		}
	})
	defer stop()
	watched := make(map[ID]bool)
	for {
		list, err := d.lookAndWatch(ctx, all, watched)
		if err != nil {
			return d.timeout(what, err)
		}
		if ok, err := enough(list); ok || err != nil {
			return d.explain(what, err)
		}
		if err := d.sleep(ctx, calm, nil); err != nil {
			return d.timeout(what, err)
		}
		if err := d.sleep(ctx, 0, changed); err != nil {
			return d.timeout(what, err)
		}
	}
}

// lookAndWatch lists windows, and has the server tell of changes to those that
// are new. It then looks again, since they may have changed before; those that
// are new by then have announced themselves, and come next time.
func (d *windowList) lookAndWatch(ctx context.Context, all bool, watched map[ID]bool) ([]Window, error) {
	list, err := do(ctx, d.display, "listing windows", func() ([]Window, error) {
		if len(watched) == 0 {
			d.selectEvents(d.root, xproto.EventMaskSubstructureNotify|xproto.EventMaskPropertyChange)
		}
		return d.windows(all)
	})
	if err != nil {
		return nil, err
	}
	if len(watched) > 2*maxWindows {
		clear(watched) // of a flood most have closed
	}
	var fresh []xproto.Window
	for _, w := range list {
		if !watched[w.ID] {
			watched[w.ID] = true
			fresh = append(fresh, xproto.Window(w.ID))
		}
	}
	if len(fresh) == 0 {
		return list, nil
	}
	return do(ctx, d.display, "watching windows", func() ([]Window, error) {
		for _, w := range fresh {
			d.selectEvents(w, xproto.EventMaskPropertyChange|xproto.EventMaskFocusChange|xproto.EventMaskStructureNotify)
		}
		return d.windows(all)
	})
}
