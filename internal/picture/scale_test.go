package picture

import (
	"testing"

	"pgregory.net/rapid"
)

func TestFit(t *testing.T) {
	for _, c := range []struct{ w, h, maxW, maxH, wantW, wantH int }{
		{1920, 1080, 0, 0, 1920, 1080},
		{1920, 1080, 1280, 0, 1280, 720},
		{1920, 1080, 1280, 400, 711, 400},
		{100, 100, 500, 500, 100, 100},
		{10000, 1, 10, 10, 10, 1},
	} {
		if w, h := Fit(c.w, c.h, c.maxW, c.maxH); w != c.wantW || h != c.wantH {
			t.Errorf("%dx%d within %dx%d: %dx%d, want %dx%d", c.w, c.h, c.maxW, c.maxH, w, h, c.wantW, c.wantH)
		}
	}
}

// TestShrinkKeepsMeans holds that a colour stays, and that no pixel of the
// result lies outside of what was there.
func TestShrinkKeepsMeans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFrame(t)
		w, h := rapid.IntRange(1, f.W).Draw(t, "to w"), rapid.IntRange(1, f.H).Draw(t, "to h")
		low, high := byte(255), byte(0)
		for i, v := range f.Pix {
			if i%4 == 3 {
				continue
			}
			low, high = min(low, v), max(high, v)
		}
		s := Shrink(f, w, h)
		if s.W != w || s.H != h || len(s.Pix) != w*h*4 {
			t.Fatalf("%dx%d, %d bytes", s.W, s.H, len(s.Pix))
		}
		for i, v := range s.Pix {
			if i%4 != 3 && (v < low || v > high) && w < f.W {
				t.Fatalf("byte %d is %d, not within %d and %d", i, v, low, high)
			}
		}
	})
}

func TestSpansAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old := rapid.IntRange(1, 4000).Draw(t, "old")
		next := 0
		for i, s := range spans(old, rapid.IntRange(1, old).Draw(t, "now")) {
			var sum uint32
			for x := s.from; x <= s.last; x++ {
				sum += s.weight(x)
			}
			if sum != 1<<16 || s.from > next || s.last < s.from || s.last >= old {
				t.Fatalf("span %d: %+v, weights %d, next %d", i, s, sum, next)
			}
			next = s.last + 1
		}
		if next != old {
			t.Fatalf("%d of %d covered", next, old)
		}
	})
}
