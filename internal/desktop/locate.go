package desktop

import (
	"context"
	"fmt"
	"image"

	"github.com/jezek/xgb/composite"
	"github.com/jezek/xgb/xproto"
)

// ID is the server's number of a window.
type ID uint32

func (id ID) String() string { return fmt.Sprintf("window %#x", uint32(id)) }

// noWindow is the error for a number that is not (any more) a window's.
func noWindow(id ID) error {
	return fmt.Errorf("there is no %s (any more): ask for the list of windows", id)
}

// KeepWindows has the server keep a picture of each top-level window beside the
// screen, as long as this connection lasts. Screenshot then gives windows
// whole, also where others cover them or where they lie beyond the screen. It
// costs the server the memory of those pictures. Called right after the
// display was opened; windows that are there already paint themselves anew.
func (d *shots) KeepWindows(ctx context.Context) error {
	return d.do(ctx, "keeping pictures of windows", func() error {
		if _, err := d.opcode("Composite"); err != nil {
			return err
		}
		return composite.RedirectSubwindowsChecked(d.x, d.root, composite.RedirectAutomatic).Check()
	})
}

// place is where a window is.
type place struct {
	area image.Rectangle // without its border, in the screen's coordinates
	top  xproto.Window   // its ancestor that is a child of the root, or itself
}

// maxDepth bounds how deep windows lie in each other.
const maxDepth = 64

func (d *shots) place(id ID) (place, error) {
	w := xproto.Window(id)
	attributes := xproto.GetWindowAttributes(d.x, w)
	geometry := xproto.GetGeometry(d.x, xproto.Drawable(w))
	origin := xproto.TranslateCoordinates(d.x, w, d.root, 0, 0)
	a, err := attributes.Reply()
	g, err2 := geometry.Reply()
	o, err3 := origin.Reply()
	for _, err := range []error{err, err2, err3} {
		if isX(err) {
			return place{}, noWindow(id)
		} else if err != nil {
			return place{}, err
		}
	}
	if a.Class == xproto.WindowClassInputOnly {
		return place{}, fmt.Errorf("%s has no picture: it only takes input", id)
	}
	if a.MapState != xproto.MapStateViewable {
		return place{}, fmt.Errorf("%s is hidden or minimised and has no picture: show it first", id)
	}
	p := place{area: image.Rect(0, 0, int(g.Width), int(g.Height)).Add(image.Pt(int(o.DstX), int(o.DstY)))}
	for range maxDepth {
		// Only the parent is of interest, which the head of the reply has; the
		// library would parse all children.
		b, err := d.ask(queryTree(w)).Reply()
		if isX(err) {
			return place{}, noWindow(id)
		} else if err != nil {
			return place{}, err
		}
		parent := xproto.Window(le32(b[12:]))
		if parent == d.root {
			p.top = w
			return p, nil
		}
		w = parent
	}
	return place{}, fmt.Errorf("%s lies more than %d windows deep", id, maxDepth)
}

// windowSource is where the pixels of a window come from: its kept picture, or
// the screen where it shows.
func (d *shots) windowSource(id ID, screen image.Rectangle) (source, error) {
	p, err := d.place(id)
	if err != nil {
		return source{}, err
	}
	s := source{name: id.String(), window: id, at: p.area.Min, free: func() {}}
	if kept, err := d.kept(p); err == nil {
		s.from, s.free = xproto.Drawable(kept.pixmap), kept.free
		s.shift = p.area.Min.Sub(kept.area.Min)
		s.bounds = p.area.Intersect(kept.area).Sub(p.area.Min)
	} else {
		s.from, s.shift = xproto.Drawable(d.root), p.area.Min
		s.bounds = p.area.Intersect(screen).Sub(p.area.Min)
	}
	if s.bounds.Empty() {
		s.free()
		return source{}, fmt.Errorf("%s lies at %v, outside of the screen, which has %v", id, p.area, screen)
	}
	return s, nil
}

// kept is the picture of a top-level window that the server keeps, its border
// included, and where it is on the screen.
type kept struct {
	pixmap xproto.Pixmap
	area   image.Rectangle
	free   func()
}

// kept fails where the server keeps none: KeepWindows was not called, or the
// window has just gone.
func (d *shots) kept(p place) (kept, error) {
	if _, err := d.opcode("Composite"); err != nil {
		return kept{}, err
	}
	pixmap, err := xproto.NewPixmapId(d.x)
	if err != nil {
		return kept{}, err
	}
	named := composite.NameWindowPixmapChecked(d.x, p.top, pixmap)
	geometry := xproto.GetGeometry(d.x, xproto.Drawable(p.top))
	size := xproto.GetGeometry(d.x, xproto.Drawable(pixmap))
	frame, err := geometry.Reply()
	whole, err2 := size.Reply()
	if err := named.Check(); err != nil {
		return kept{}, err
	}
	k := kept{pixmap: pixmap, free: func() { xproto.FreePixmap(d.x, pixmap) }}
	for _, err := range []error{err, err2} {
		if err != nil {
			k.free()
			return kept{}, err
		}
	}
	k.area = image.Rect(0, 0, int(whole.Width), int(whole.Height)).Add(image.Pt(int(frame.X), int(frame.Y)))
	return k, nil
}
