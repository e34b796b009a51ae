package desktop

import (
	"context"
	"encoding/binary"
	"image"
	"testing"
	"time"

	"github.com/jezek/xgb/xtest"
)

// TestPicturesOverASocket: without shared memory pictures come whole and in place, while
// somebody waits for painting, programs paint and the pointer moves over all of it. A
// server takes its pointer off the screen for a picture, and tells of that as painting.
func TestPicturesOverASocket(t *testing.T) {
	s := xvfb(t)
	if out, err := s.command(t, "xsetroot", "-cursor_name", "left_ptr").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d, err := Open(t.Context(), s.dialPlain, s.cookie)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	painter := s.open(t)
	const ground, mark = 0x102030, 0xfedcba
	paint(t, painter, ground, 0, 0, 1920, 1080)
	for _, p := range []image.Point{{0, 0}, {1919, 0}, {0, 1079}, {1919, 1079}} {
		paint(t, painter, mark, p.X, p.Y, 1, 1)
	}
	seen, stop, err := d.painted(t.Context(), image.Rectangle{})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		const motion = 6
		for i := 0; ctx.Err() == nil; i++ {
			xtest.FakeInput(painter.x, motion, 0, 0, painter.root, int16(100+i*7%1500), int16(100+i*5%800), 0)
			painter.x.Sync()
			paint(t, painter, ground, 300+i%50, 300, 40, 40)
		}
	}()
	defer func() { cancel(); <-ended }()
	n, told := 0, 0
	for ctx.Err() == nil {
		p, err := d.Screenshot(t.Context(), Shot{Format: Raw})
		if err != nil {
			t.Fatalf("after %d pictures: %v", n, err)
		}
		for _, at := range []image.Point{{0, 0}, {1919, 0}, {0, 1079}, {1919, 1079}} {
			if got := binary.LittleEndian.Uint32(p.Data[(at.Y*1920+at.X)*4:]) & 0xffffff; got != mark {
				t.Fatalf("picture %d has %06x at %v, want %06x", n, got, at, mark)
			}
		}
		if got := binary.LittleEndian.Uint32(p.Data[(60*1920+60)*4:]) & 0xffffff; got != ground {
			t.Fatalf("picture %d has %06x where nothing was", n, got)
		}
		select {
		case <-seen:
			told++
		default:
		}
		n++
	}
	if n < 5 || told == 0 {
		t.Errorf("%d pictures, and painting was told %d times", n, told)
	}
	t.Logf("%d pictures, painting told %d times", n, told)
}

// TestSmallPicturesOverASocket: the same of a small picture, that the pointer lies in.
func TestSmallPicturesOverASocket(t *testing.T) {
	s := xvfb(t)
	if out, err := s.command(t, "xsetroot", "-cursor_name", "left_ptr").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d, err := Open(t.Context(), s.dialPlain, s.cookie)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	const ground = 0x102030
	paint(t, d, ground, 0, 0, 1920, 1080)
	if err := d.Input(t.Context(), Move{To: image.Pt(110, 110)}); err != nil {
		t.Fatal(err)
	}
	_, stop, err := d.painted(t.Context(), image.Rectangle{})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for n := range 10 {
		time.Sleep(2 * calm) // the server tells again
		p, err := d.Screenshot(t.Context(), Shot{Format: Raw, Area: image.Rect(100, 100, 140, 140)})
		if err != nil {
			t.Fatalf("after %d pictures: %v", n, err)
		}
		for i := range 40 * 40 {
			if got := binary.LittleEndian.Uint32(p.Data[i*4:]) & 0xffffff; got != ground {
				t.Fatalf("picture %d has %06x at %d,%d", n, got, i%40, i/40)
			}
		}
	}
}
