package desktop

import (
	"context"
	"errors"
	"fmt"
	"image"
	"strings"

	"carrel/internal/picture"

	"github.com/jezek/xgb/xproto"
)

// Format is how the bytes of a picture are to be read.
type Format string

const (
	PNG  Format = "png"
	JPEG Format = "jpeg"
	// Raw is rows from the top without padding, each pixel four bytes: blue,
	// green, red, and one without meaning (ffmpeg: bgr0).
	Raw Format = "raw"
)

// Shot says what a picture is to be of. The zero value is the whole screen as
// PNG.
type Shot struct {
	// Window is the window to take, 0 for the screen. A window's picture has
	// what is seen of it on the screen, or all of it after KeepWindows.
	Window ID
	// Area is the part to take, in pixels of the screen, or from the window's
	// upper left corner. What lies outside is cut off; an area all outside is an
	// error. The empty rectangle means everything.
	Area image.Rectangle
	// MaxWidth and MaxHeight shrink the picture until it fits, with its
	// proportions kept; 0 is no bound. Pictures never grow.
	MaxWidth, MaxHeight int
	// Cursor draws the pointer into the picture.
	Cursor bool
	Format Format // PNG if empty
	// Quality of JPEG from 1 to 100, 80 if 0.
	Quality int
	// To gets the bytes, which it may not keep, instead of Picture.Data: a screen's are
	// megabytes, and need not be copied once more.
	To func(data []byte) error
	// Since is the token of an earlier picture. If the pixels are the same as
	// in that one the answer says so and has no data.
	Since string
}

// Picture is what a Shot gave.
type Picture struct {
	Data          []byte
	Format        Format
	Width, Height int             // of the picture
	Area          image.Rectangle // what it shows, in pixels of the screen
	// Token stands for the pixels before they were shrunk, as long as this
	// process lives.
	Token string
	// Unchanged says that the pixels are those of Shot.Since; Data is empty.
	Unchanged bool
}

// shots takes pictures of the screen and of windows.
type shots struct{ pixelReader }

// Screenshot takes a picture.
func (d *shots) Screenshot(ctx context.Context, s Shot) (Picture, error) {
	if err := s.check(); err != nil {
		return Picture{}, fmt.Errorf("screenshot: %w", err)
	}
	return do(ctx, d.display, "screenshot", func() (p Picture, err error) {
		err = d.withPixels(s, func(f picture.Frame, seen image.Rectangle) error {
			p, err = s.finish(f, seen)
			return err
		})
		return p, err
	})
}

// withPixels has use look at the pixels of a shot, where they lie, and at what
// area of the screen they show.
func (d *shots) withPixels(s Shot, use func(f picture.Frame, seen image.Rectangle) error) error {
	src, err := d.source(s.Window)
	if err != nil {
		return err
	}
	defer src.free()
	area := src.bounds
	if !s.Area.Empty() {
		if area = s.Area.Intersect(src.bounds); area.Empty() {
			return fmt.Errorf("the area %v lies outside of %s, which has %v", s.Area, src.name, src.bounds)
		}
	}
	pix, done, err := d.pixels(src.from, area.Min.X+src.shift.X, area.Min.Y+src.shift.Y, area.Dx(), area.Dy())
	if err != nil {
		return src.explain(err)
	}
	defer done()
	f := picture.Frame{W: area.Dx(), H: area.Dy(), Pix: pix}
	seen := area.Add(src.at)
	if s.Cursor {
		if err := d.drawCursor(f, seen); err != nil {
			return err
		}
	}
	return use(f, seen)
}

// check refuses what could not be meant.
func (s *Shot) check() error {
	switch s.Format {
	case "":
		s.Format = PNG
	case PNG, JPEG, Raw:
	default:
		return fmt.Errorf("unknown format %q: there are png, jpeg and raw", s.Format)
	}
	if s.Quality == 0 {
		s.Quality = 80
	}
	if s.Quality < 1 || s.Quality > 100 {
		return fmt.Errorf("the quality is from 1 to 100, not %d", s.Quality)
	}
	if s.MaxWidth < 0 || s.MaxHeight < 0 {
		return fmt.Errorf("the largest size cannot be %dx%d", s.MaxWidth, s.MaxHeight)
	}
	if r := s.Area; r != (image.Rectangle{}) && (r.Dx() <= 0 || r.Dy() <= 0) {
		return fmt.Errorf("the area %v has no pixels", r)
	}
	return nil
}

// finish makes the answer of what was grabbed.
func (s *Shot) finish(f picture.Frame, seen image.Rectangle) (Picture, error) {
	p := Picture{Format: s.Format, Area: seen, Token: f.Token()}
	w, h := picture.Fit(f.W, f.H, s.MaxWidth, s.MaxHeight)
	p.Width, p.Height = w, h
	if s.Since != "" && s.Since == p.Token {
		p.Unchanged = true
		return p, nil
	}
	small := picture.Shrink(f, w, h)
	var err error
	switch s.Format {
	case PNG:
		p.Data = picture.PNG(small)
	case JPEG:
		p.Data, err = picture.JPEG(small, s.Quality)
	case Raw:
		if p.Data = small.Pix; s.To == nil {
			p.Data = append([]byte(nil), small.Pix...)
		}
	}
	if err == nil && s.To != nil {
		err = s.To(p.Data)
		p.Data = nil
	}
	return p, err
}

// source is what pixels are taken from.
type source struct {
	name   string
	from   xproto.Drawable
	bounds image.Rectangle // what can be taken, as Shot.Area counts
	shift  image.Point     // from there to the drawable's coordinates
	at     image.Point     // from there to the screen's
	window ID
	free   func()
}

func (d *shots) source(window ID) (source, error) {
	g, err := xproto.GetGeometry(d.x, xproto.Drawable(d.root)).Reply()
	if err != nil {
		return source{}, err
	}
	screen := image.Rect(0, 0, int(g.Width), int(g.Height))
	if window == 0 || window == ID(d.root) {
		return source{name: "the screen", from: xproto.Drawable(d.root), bounds: screen, free: func() {}}, nil
	}
	return d.windowSource(window, screen)
}

// explain says what an error of the server means here: between two requests a
// window can close.
func (s source) explain(err error) error {
	if s.window != 0 && (errors.Is(err, errOutside) || isX(err) && !strings.Contains(err.Error(), "BadAlloc")) {
		return fmt.Errorf("%s closed or changed while its picture was taken", s.name)
	}
	return err
}
