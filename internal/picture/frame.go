// Package picture encodes what a screen shows: PNG and JPEG of a [Frame], its size within
// bounds, and a token that is the same for the same picture.
//
// It knows no display, and imports nothing of this module.
package picture

import (
	"fmt"
	"hash/maphash"
	"image/color"
)

// Frame is a picture as X servers give it: rows without padding, for each
// pixel blue, green, red and a byte that means nothing.
type Frame struct {
	W, H int
	Pix  []byte
}

// Row gives the bytes of one row.
func (f Frame) Row(y int) []byte { return f.Pix[y*f.W*4 : (y+1)*f.W*4] }

// All says whether every pixel has one colour.
func (f Frame) All(c color.RGBA) bool {
	for i := 0; i+4 <= len(f.Pix); i += 4 {
		if f.Pix[i] != c.B || f.Pix[i+1] != c.G || f.Pix[i+2] != c.R {
			return false
		}
	}
	return true
}

// seed makes tokens of another process unlike ours: no program can make pixels that
// have the token of others.
var seed = maphash.MakeSeed()

// Token is the same for the same picture, as long as the process lives.
func (f Frame) Token() string {
	return fmt.Sprintf("%016x-%dx%d", maphash.Bytes(seed, f.Pix), f.W, f.H)
}
