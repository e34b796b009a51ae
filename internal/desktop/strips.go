package desktop

import (
	"errors"
	"fmt"

	"carrel/internal/desktop/wire"

	"github.com/jezek/xgb/xproto"
)

// errOutside is for an area that does not lie in what it is to be taken from, any more.
var errOutside = errors.New("the area does not lie in it")

// strips fetches pixels over the socket, from a copy that nobody paints on. A server that
// draws the pointer itself takes it off the screen for a picture, and tells whoever waits
// for painting of that in the midst of its answer: then nobody knows what is pixels. For a
// copy it does so before there is an answer.
func (d *pixelReader) strips(from xproto.Drawable, x, y, w, h int) ([]byte, error) {
	copied, free, err := d.copied(from, x, y, w, h)
	if err != nil {
		return nil, err
	}
	defer free()
	pix := make([]byte, 0, w*h*4)
	rows := max(1, wire.MaxImage/(w*4))
	for top := 0; top < h; top += rows {
		n := min(rows, h-top)
		const all = 0xffffffff
		r, err := xproto.GetImage(d.x, xproto.ImageFormatZPixmap, copied, 0, int16(top), uint16(w), uint16(n), all).Reply()
		if err != nil {
			return nil, err
		}
		if len(r.Data) != w*n*4 {
			return nil, fmt.Errorf("the X server gives %d bytes for %dx%d pixels, where %d are expected: only screens with 32 bits a pixel are known", len(r.Data), w, n, w*n*4)
		}
		pix = append(pix, r.Data...)
	}
	return pix, nil
}

// copied has the server copy a rectangle, with all windows in it.
func (d *pixelReader) copied(from xproto.Drawable, x, y, w, h int) (copied xproto.Drawable, free func(), err error) {
	g, err := xproto.GetGeometry(d.x, from).Reply()
	if err != nil {
		return 0, nil, err
	}
	pixmap, err := xproto.NewPixmapId(d.x)
	if err != nil {
		return 0, nil, err
	}
	gc, err := xproto.NewGcontextId(d.x)
	if err != nil {
		return 0, nil, err
	}
	made := xproto.CreatePixmapChecked(d.x, g.Depth, pixmap, from, uint16(w), uint16(h))
	const noExposures = 0
	xproto.CreateGC(d.x, gc, xproto.Drawable(pixmap), xproto.GcSubwindowMode|xproto.GcGraphicsExposures, []uint32{xproto.SubwindowModeIncludeInferiors, noExposures})
	copying := xproto.CopyAreaChecked(d.x, from, xproto.Drawable(pixmap), gc, int16(x), int16(y), 0, 0, uint16(w), uint16(h))
	xproto.FreeGC(d.x, gc)
	after := xproto.GetGeometry(d.x, from) // what lies outside is not copied, and no error
	free = func() { xproto.FreePixmap(d.x, pixmap) }
	g, err = after.Reply()
	for _, e := range []error{copying.Check(), made.Check()} {
		if e != nil {
			err = e
		}
	}
	if err == nil && (x < 0 || y < 0 || x+w > int(g.Width) || y+h > int(g.Height)) {
		err = errOutside
	}
	if err != nil {
		free()
		return 0, nil, err
	}
	return xproto.Drawable(pixmap), free, nil
}
