package policy

import "fmt"

// Size is a screen's size in pixels.
type Size struct{ Width, Height int }

func (s Size) String() string { return fmt.Sprintf("%dx%d", s.Width, s.Height) }

// Bounds of a side, in pixels. The largest screen takes 256 MiB, and is a quarter of
// what the coordinates of X11 reach.
const (
	MinSide = 64
	MaxSide = 8192
)

// ParseSize reads WIDTHxHEIGHT, such as 1280x800. An error says what would be right.
func ParseSize(text string) (Size, error) {
	var s Size
	n, _ := fmt.Sscanf(text, "%dx%d", &s.Width, &s.Height)
	if n != 2 || s.String() != text {
		return Size{}, fmt.Errorf("size %q is not understood: WIDTHxHEIGHT in pixels, such as 1280x800", text)
	}
	if min(s.Width, s.Height) < MinSide || max(s.Width, s.Height) > MaxSide {
		return Size{}, fmt.Errorf("size %q is out of bounds: each side is %d to %d pixels", text, MinSide, MaxSide)
	}
	return s, nil
}
