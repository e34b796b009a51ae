package desktop

import (
	"encoding/binary"
	"fmt"
	"image"

	"carrel/internal/picture"
)

// cursor is the pointer's picture: premultiplied ARGB, in the screen's
// coordinates.
type cursor struct {
	area image.Rectangle
	pix  []byte
}

// readCursor parses the reply of XFIXES GetCursorImage, from its head on:
// https://gitlab.freedesktop.org/xorg/proto/xorgproto/-/blob/master/fixesproto.txt
func readCursor(b []byte) (cursor, error) {
	if len(b) < 32 {
		return cursor{}, fmt.Errorf("the cursor's picture has %d bytes, less than its head", len(b))
	}
	u16 := func(at int) int { return int(binary.LittleEndian.Uint16(b[at:])) }
	x, y, w, h := int(int16(u16(8))), int(int16(u16(10))), u16(12), u16(14)
	if len(b)-32 < w*h*4 {
		return cursor{}, fmt.Errorf("the cursor's picture of %dx%d has %d bytes only", w, h, len(b)-32)
	}
	at := image.Pt(x-u16(16), y-u16(18)) // less the hot spot
	return cursor{image.Rect(0, 0, w, h).Add(at), b[32 : 32+w*h*4]}, nil
}

// drawCursor draws the pointer into a frame that shows an area of the screen.
func (d *shots) drawCursor(f picture.Frame, seen image.Rectangle) error {
	op, err := d.opcode("XFIXES")
	if err != nil {
		return err
	}
	const getCursorImage = 4
	b, err := d.ask([]byte{op, getCursorImage, 1, 0}).Reply()
	if isX(err) {
		return nil // a program has made it as large as the screen
	}
	if err != nil {
		return err
	}
	c, err := readCursor(b)
	if err != nil {
		return err
	}
	c.over(f, seen)
	return nil
}

// over lays the cursor over a frame.
func (c cursor) over(f picture.Frame, seen image.Rectangle) {
	part := c.area.Intersect(seen)
	for y := part.Min.Y; y < part.Max.Y; y++ {
		row := f.Row(y - seen.Min.Y)
		for x := part.Min.X; x < part.Max.X; x++ {
			s := c.pix[((y-c.area.Min.Y)*c.area.Dx()+x-c.area.Min.X)*4:]
			p := row[(x-seen.Min.X)*4:]
			through := 255 - uint32(s[3])
			for i := range 3 {
				p[i] = byte(min(255, uint32(s[i])+(uint32(p[i])*through+127)/255))
			}
		}
	}
}
