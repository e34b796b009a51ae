package desktop

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/jezek/xgb/xproto"
)

// window makes a window of one colour and shows it; the server paints it.
func window(t testing.TB, d *Desktop, colour uint32, r image.Rectangle) ID {
	t.Helper()
	w, err := xproto.NewWindowId(d.x)
	if err != nil {
		t.Fatal(err)
	}
	xproto.CreateWindow(d.x, 0, w, d.root, int16(r.Min.X), int16(r.Min.Y), uint16(r.Dx()), uint16(r.Dy()), 0,
		xproto.WindowClassInputOutput, 0, xproto.CwBackPixel, []uint32{colour})
	if err := xproto.MapWindowChecked(d.x, w).Check(); err != nil {
		t.Fatal(err)
	}
	return ID(w)
}

func at(p Picture, x, y int) color.RGBA {
	b := p.Data[(y*p.Width+x)*4:]
	return color.RGBA{b[2], b[1], b[0], 255}
}

func TestScreenshot(t *testing.T) {
	d := xvfb(t).open(t)
	paint(t, d, 0x102030, 0, 0, 1920, 1080)
	paint(t, d, 0xff0000, 1000, 500, 100, 100)

	t.Run("png", func(t *testing.T) {
		p, err := d.Screenshot(t.Context(), Shot{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := png.Decode(bytes.NewReader(p.Data))
		if err != nil {
			t.Fatal(err)
		}
		if m.Bounds() != image.Rect(0, 0, 1920, 1080) || p.Width != 1920 || p.Height != 1080 || p.Area != m.Bounds() {
			t.Errorf("bounds %v, picture %dx%d of %v", m.Bounds(), p.Width, p.Height, p.Area)
		}
		if c := m.At(1050, 550); c != (color.RGBA{255, 0, 0, 255}) {
			t.Errorf("colour %v", c)
		}
	})
	t.Run("shrunk jpeg", func(t *testing.T) {
		p, err := d.Screenshot(t.Context(), Shot{Format: JPEG, MaxWidth: 1280, MaxHeight: 800})
		if err != nil {
			t.Fatal(err)
		}
		m, err := jpeg.Decode(bytes.NewReader(p.Data))
		if err != nil {
			t.Fatal(err)
		}
		if m.Bounds() != image.Rect(0, 0, 1280, 720) {
			t.Errorf("bounds %v", m.Bounds())
		}
		if r, g, b, _ := m.At(700, 366).RGBA(); r>>8 < 240 || g>>8 > 16 || b>>8 > 16 {
			t.Errorf("colour %x %x %x", r, g, b)
		}
	})
	t.Run("area cut at the edge", func(t *testing.T) {
		p, err := d.Screenshot(t.Context(), Shot{Format: Raw, Area: image.Rect(1099, 599, 4000, 4000)})
		if err != nil {
			t.Fatal(err)
		}
		if p.Area != image.Rect(1099, 599, 1920, 1080) || len(p.Data) != p.Width*p.Height*4 {
			t.Errorf("area %v, %d bytes", p.Area, len(p.Data))
		}
		if at(p, 0, 0) != (color.RGBA{255, 0, 0, 255}) || at(p, 1, 0) != (color.RGBA{16, 32, 48, 255}) {
			t.Errorf("colours %v %v", at(p, 0, 0), at(p, 1, 0))
		}
	})
	t.Run("unchanged", func(t *testing.T) {
		p, err := d.Screenshot(t.Context(), Shot{})
		if err != nil {
			t.Fatal(err)
		}
		again, err := d.Screenshot(t.Context(), Shot{Since: p.Token, MaxWidth: 100})
		if err != nil || !again.Unchanged || again.Data != nil || again.Token != p.Token {
			t.Errorf("%v, unchanged %v, %d bytes", err, again.Unchanged, len(again.Data))
		}
		paint(t, d, 0x00ff00, 7, 7, 1, 1)
		after, err := d.Screenshot(t.Context(), Shot{Since: p.Token})
		if err != nil || after.Unchanged || len(after.Data) == 0 {
			t.Errorf("%v, unchanged %v, %d bytes", err, after.Unchanged, len(after.Data))
		}
	})
	t.Run("cursor", func(t *testing.T) {
		xproto.WarpPointer(d.x, 0, d.root, 0, 0, 0, 0, 300, 300)
		shot := Shot{Format: Raw, Area: image.Rect(280, 280, 320, 320)}
		without, err := d.Screenshot(t.Context(), shot)
		if err != nil {
			t.Fatal(err)
		}
		shot.Cursor = true
		with, err := d.Screenshot(t.Context(), shot)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(with.Data, without.Data) {
			t.Error("the pointer cannot be seen")
		}
	})
	for name, c := range map[string]struct {
		shot Shot
		want string
	}{
		"outside":   {Shot{Area: image.Rect(5000, 0, 6000, 10)}, "(0,0)-(1920,1080)"},
		"format":    {Shot{Format: "gif"}, "png, jpeg and raw"},
		"quality":   {Shot{Quality: 101}, "1 to 100"},
		"bound":     {Shot{MaxWidth: -1}, "-1x0"},
		"no window": {Shot{Window: 0x12345}, "no window 0x12345"},
		"empty":     {Shot{Area: image.Rectangle{Min: image.Pt(5, 5), Max: image.Pt(5, 9)}}, "no pixels"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := d.Screenshot(t.Context(), c.shot); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q in it", err, c.want)
			}
		})
	}
}

func TestScreenshotOfWindows(t *testing.T) {
	s := xvfb(t)
	d, programs := s.open(t), s.open(t)
	red, blue := color.RGBA{255, 0, 0, 255}, color.RGBA{0, 0, 255, 255}
	low := window(t, programs, 0xff0000, image.Rect(100, 100, 300, 200))
	window(t, programs, 0x0000ff, image.Rect(200, 100, 300, 200))
	beyond := window(t, programs, 0xff0000, image.Rect(-50, 1000, 50, 1200))

	shot := func(id ID) Picture {
		t.Helper()
		p, err := d.Screenshot(t.Context(), Shot{Window: id, Format: Raw})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := shot(low); p.Width != 200 || p.Area != image.Rect(100, 100, 300, 200) || at(p, 0, 0) != red || at(p, 150, 50) != blue {
		t.Errorf("a covered window: %v %v %v", p.Area, at(p, 0, 0), at(p, 150, 50))
	}
	if p := shot(beyond); p.Area != image.Rect(0, 1000, 50, 1080) || at(p, 0, 0) != red {
		t.Errorf("a window over the edge: %v", p.Area)
	}
	if err := d.KeepWindows(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.WaitIdle(t.Context(), image.Rectangle{}, 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if p := shot(low); p.Width != 200 || at(p, 0, 0) != red || at(p, 150, 50) != red {
		t.Errorf("a covered window that is kept: %v %v %v", p.Area, at(p, 0, 0), at(p, 150, 50))
	}
	if p := shot(beyond); p.Area != image.Rect(-50, 1000, 50, 1200) || at(p, 0, 0) != red || at(p, 99, 199) != red {
		t.Errorf("a window over the edge that is kept: %v", p.Area)
	}
	xproto.UnmapWindowChecked(programs.x, xproto.Window(low)).Check()
	if _, err := d.Screenshot(t.Context(), Shot{Window: low}); err == nil || !strings.Contains(err.Error(), "show it first") {
		t.Errorf("hidden: %v", err)
	}
	xproto.DestroyWindowChecked(programs.x, xproto.Window(low)).Check()
	if _, err := d.Screenshot(t.Context(), Shot{Window: low}); err == nil || !strings.Contains(err.Error(), "no window") {
		t.Errorf("closed: %v", err)
	}
}

// TestWindowsThatClose takes pictures of windows while they come and go.
func TestWindowsThatClose(t *testing.T) {
	s := xvfb(t)
	d, programs := s.open(t), s.open(t)
	if err := d.KeepWindows(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		w := window(t, programs, 0xff0000, image.Rect(0, 0, 50, 50))
		go xproto.DestroyWindow(programs.x, xproto.Window(w))
		if _, err := d.Screenshot(t.Context(), Shot{Window: w, Format: Raw}); err != nil &&
			!strings.Contains(err.Error(), "there is no window") && !strings.Contains(err.Error(), "closed or changed") && !strings.Contains(err.Error(), "show it first") {
			t.Fatal(err)
		}
	}
}

// TestKeptPictures has windows in frames: theirs is the picture that is kept.
func TestKeptPictures(t *testing.T) {
	managed(t, func(t *testing.T, s *server, d *Desktop) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := d.KeepWindows(ctx); err != nil {
			t.Fatal(err)
		}
		programs := s.open(t)
		low := window(t, programs, 0xff0000, image.Rect(100, 100, 300, 200))
		if _, err := d.Wait(ctx, Match{ID: low}); err != nil {
			t.Fatal(err)
		}
		if err := d.Move(ctx, low, 1850, 300); err != nil {
			t.Fatal(err)
		}
		high := window(t, programs, 0x0000ff, image.Rect(1600, 200, 1900, 500))
		if _, err := d.Wait(ctx, Match{ID: high}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the whole window", func() error {
			p, err := d.Screenshot(ctx, Shot{Window: low, Format: Raw})
			if err != nil {
				return err
			}
			if p.Width != 200 || p.Height != 100 || p.Area.Max.X < 1920 {
				return fmt.Errorf("%dx%d at %v", p.Width, p.Height, p.Area)
			}
			for i := 0; i < len(p.Data); i += 4 {
				if !bytes.Equal(p.Data[i:i+3], []byte{0, 0, 255}) {
					return fmt.Errorf("pixel %d is %v", i/4, p.Data[i:i+3])
				}
			}
			return nil
		})
	})
}
