package picture

import (
	"bytes"
	"image"
	"image/jpeg"
)

// Fit gives the largest size with the proportions of w and h within bounds, 0
// being none, that is no larger than w and h.
func Fit(w, h, maxW, maxH int) (int, int) {
	fw, fh := w, h
	if maxW > 0 && fw > maxW {
		fw, fh = maxW, (h*maxW+w/2)/w
	}
	if maxH > 0 && fh > maxH {
		fw, fh = (w*maxH+h/2)/h, maxH
	}
	return max(fw, 1), max(fh, 1)
}

// Shrink makes a frame smaller: each pixel is the mean of the area that it
// stands for, with parts of pixels counted as such.
func Shrink(f Frame, w, h int) Frame {
	if w >= f.W && h >= f.H {
		return f
	}
	xs, ys := spans(f.W, w), spans(f.H, h)
	out := Frame{w, h, make([]byte, w*h*4)}
	line := make([]uint32, 3*w) // sums for one row of the result, in 1/65536
	for y, rows := range ys {
		clear(line)
		for sy := rows.from; sy <= rows.last; sy++ {
			addRow(line, f.Row(sy), xs, rows.weight(sy))
		}
		dst := out.Row(y)
		for x := range w {
			for c := range 3 {
				dst[4*x+c] = byte((line[3*x+c] + 1<<15) >> 16)
			}
		}
	}
	return out
}

// addRow adds one row, shrunk in its width, weighed.
func addRow(line []uint32, row []byte, xs []span, weight uint32) {
	for x, s := range xs {
		var b, g, r uint32
		for sx := s.from; sx <= s.last; sx++ {
			w := s.weight(sx)
			p := row[4*sx : 4*sx+4]
			b += uint32(p[0]) * w
			g += uint32(p[1]) * w
			r += uint32(p[2]) * w
		}
		// The weights of a span add up to one, so nothing exceeds 255<<16.
		line[3*x] += uint32(uint64(b) * uint64(weight) >> 16)
		line[3*x+1] += uint32(uint64(g) * uint64(weight) >> 16)
		line[3*x+2] += uint32(uint64(r) * uint64(weight) >> 16)
	}
}

// span is which old pixels one new one stands for, with the weights of the
// first, of those between and of the last, in units of 1/65536.
type span struct {
	from, last             int
	first, inner, lastPart uint32
}

func (s span) weight(i int) uint32 {
	switch i {
	case s.from:
		return s.first
	case s.last:
		return s.lastPart
	}
	return s.inner
}

// spans divides old pixels among fewer new ones. New pixel i covers from
// i*old/new to (i+1)*old/new.
func spans(old, now int) []span {
	const one = 1 << 16
	out := make([]span, now)
	for i := range out {
		from, to := i*old, (i+1)*old // in units of 1/now
		s := span{from: from / now, last: (to - 1) / now}
		s.inner = uint32(one * now / old)
		s.lastPart = uint32(one * (to - s.last*now) / old)
		// The first has what the others leave, so that all weights make one.
		if s.from == s.last {
			s.first = one
		} else {
			s.first = one - s.lastPart - s.inner*uint32(s.last-s.from-1)
		}
		out[i] = s
	}
	return out
}

// JPEG writes a frame as JPEG, of a quality from 1 to 100.
func JPEG(f Frame, quality int) ([]byte, error) {
	m := image.NewRGBA(image.Rect(0, 0, f.W, f.H))
	for i := 0; i+4 <= len(f.Pix) && i+4 <= len(m.Pix); i += 4 {
		p, q := f.Pix[i:i+4], m.Pix[i:i+4]
		q[0], q[1], q[2], q[3] = p[2], p[1], p[0], 0xff
	}
	var out bytes.Buffer
	err := jpeg.Encode(&out, m, &jpeg.Options{Quality: quality})
	return out.Bytes(), err
}
