package picture

import (
	"bytes"
	"hash/adler32"
	"image/color"
	"image/png"
	"testing"

	"pgregory.net/rapid"
)

func drawFrame(t *rapid.T) Frame {
	w, h := rapid.IntRange(1, 40).Draw(t, "w"), rapid.IntRange(1, 300).Draw(t, "h")
	f := Frame{w, h, make([]byte, w*h*4)}
	for range rapid.IntRange(0, 40).Draw(t, "spots") {
		f.Pix[rapid.IntRange(0, len(f.Pix)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "value")
	}
	return f
}

func TestPNGIsWhatWasThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFrame(t)
		m, err := png.Decode(bytes.NewReader(PNG(f)))
		if err != nil {
			t.Fatal(err)
		}
		if b := m.Bounds(); b.Dx() != f.W || b.Dy() != f.H {
			t.Fatalf("bounds %v of %dx%d", b, f.W, f.H)
		}
		for y := range f.H {
			for x := range f.W {
				p := f.Row(y)[x*4:]
				if c := color.RGBAModel.Convert(m.At(x, y)).(color.RGBA); c != (color.RGBA{p[2], p[1], p[0], 255}) {
					t.Fatalf("pixel %d,%d is %v, was %v", x, y, c, p[:4])
				}
			}
		}
	})
}

func TestJoinAdler(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SliceOf(rapid.Byte()).Draw(t, "a"), rapid.SliceOf(rapid.Byte()).Draw(t, "b")
		if got, want := joinAdler(adler32.Checksum(a), adler32.Checksum(b), len(b)), adler32.Checksum(append(a, b...)); got != want {
			t.Fatalf("%x, want %x", got, want)
		}
	})
}
