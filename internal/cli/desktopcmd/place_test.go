package desktopcmd

import (
	"fmt"
	"testing"
	"time"
)

// TestPlaces: places and sizes are whole numbers with one way to write them, and an area
// and a size are not empty.
func TestPlaces(t *testing.T) {
	area := func(s string) (any, error) {
		a, err := areaOf(s)
		if a == nil {
			return nil, err
		}
		return areaText(*a), err
	}
	size := func(s string) (any, error) {
		w, h, err := sizeOf("--fit", s)
		return [2]int{w, h}, err
	}
	at := func(s string) (any, error) {
		p, err := atFlag("--at", s)
		if p == nil {
			return nil, err
		}
		return *p, err
	}
	const nothing = "<nil>"
	for _, tt := range []struct {
		read     func(string) (any, error)
		in, want string // "" for a mistake
	}{
		{area, "", nothing}, {area, "0,0,400,300", "400x300+0+0"}, {area, " 1, 2 ,3,4", "3x4+1+2"}, {area, "-5,7,1,1", "1x1-5+7"},
		{area, "0,0,0,300", ""}, {area, "0,0,400,-1", ""}, {area, "0,0,400", ""}, {area, "0,0,400,300,1", ""}, {area, "0,0,a,1", ""},
		{area, "0,0,99999999999,1", ""},
		{size, "1280x800", "[1280 800]"}, {size, "1280", ""}, {size, "0x1", ""}, {size, "1x-1", ""}, {size, "1280X800", ""}, {size, "", ""},
		{at, "", nothing}, {at, "3,4", "[3 4]"}, {at, "-3,4", "[-3 4]"}, {at, "3", ""}, {at, "3,4,5", ""}, {at, "3.5,4", ""},
	} {
		got, err := tt.read(tt.in)
		if (err != nil) != (tt.want == "") || err == nil && fmt.Sprint(got) != tt.want {
			t.Errorf("%q: %v, %v, want %q", tt.in, got, err, tt.want)
		}
	}
	if p, err := placeOf("3", "x"); err == nil {
		t.Errorf("%v", p)
	}
	if p, err := placeOf("3", "4"); err != nil || *p != [2]int{3, 4} {
		t.Errorf("%v, %v", p, err)
	}
}

// TestMillis: a time is cut to whole milliseconds, and to a day.
func TestMillis(t *testing.T) {
	for d, want := range map[time.Duration]int{0: 0, 1999 * time.Microsecond: 1, time.Second: 1000, 48 * time.Hour: 86400000} {
		if got := millis(d); got != want {
			t.Errorf("%s: %d, want %d", d, got, want)
		}
	}
}
