package desktop

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/jezek/xgb/xproto"
)

// overSocket hides what kind of connection it is, so that no descriptor can be
// passed.
type overSocket struct{ net.Conn }

func (s *server) dialPlain(ctx context.Context) (net.Conn, error) {
	c, err := s.dial(ctx)
	return overSocket{c}, err
}

// paint fills a rectangle of the root.
func paint(t testing.TB, d *Desktop, colour uint32, x, y int, w, h uint16) {
	t.Helper()
	gc, err := xproto.NewGcontextId(d.x)
	if err != nil {
		t.Fatal(err)
	}
	const inferiors = xproto.SubwindowModeIncludeInferiors
	xproto.CreateGC(d.x, gc, xproto.Drawable(d.root), xproto.GcForeground|xproto.GcSubwindowMode, []uint32{colour, inferiors})
	xproto.PolyFillRectangle(d.x, xproto.Drawable(d.root), gc, []xproto.Rectangle{{X: int16(x), Y: int16(y), Width: w, Height: h}})
	if err := xproto.FreeGCChecked(d.x, gc).Check(); err != nil {
		t.Fatal(err)
	}
}

func TestPixels(t *testing.T) {
	s := xvfb(t)
	for name, dial := range map[string]Dial{"shared memory": s.dial, "socket": s.dialPlain} {
		t.Run(name, func(t *testing.T) {
			d, err := Open(t.Context(), dial, s.cookie)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			paint(t, d, 0x112233, 100, 50, 10, 10)
			pix, done, err := d.pixels(xproto.Drawable(d.root), 99, 49, 2, 2)
			if err != nil {
				t.Fatal(err)
			}
			defer done()
			if pix[12] != 0x33 || pix[13] != 0x22 || pix[14] != 0x11 {
				t.Errorf("pixel %x", pix[12:])
			}
			if d.shared.refuse != (name == "socket") {
				t.Errorf("shared memory refused: %v", d.shared.refuse)
			}
			if _, _, err := d.pixels(xproto.Drawable(d.root), 1900, 0, 200, 2); !isX(err) && !errors.Is(err, errOutside) {
				t.Errorf("beyond the screen: %v", err)
			}
		})
	}
}

// TestMemoryOfAWrappedConnection: whoever counts connections wraps them, and pictures
// go through shared memory all the same.
func TestMemoryOfAWrappedConnection(t *testing.T) {
	s := xvfb(t)
	d, err := Open(t.Context(), func(ctx context.Context) (net.Conn, error) {
		c, err := s.dial(ctx)
		if err != nil {
			return nil, err
		}
		return struct{ *net.UnixConn }{c.(*net.UnixConn)}, nil
	}, s.cookie)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Screenshot(t.Context(), Shot{}); err != nil {
		t.Fatal(err)
	}
	if len(d.shared.free) != 1 {
		t.Error("the picture came over the socket")
	}
}
