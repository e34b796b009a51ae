package desktopcmd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// areaOf reads X,Y,WIDTH,HEIGHT; nil for nothing.
func areaOf(s string) (*[4]int, error) {
	if s == "" {
		return nil, nil
	}
	n, err := numbers(s, ",", 4)
	if err != nil || n[2] <= 0 || n[3] <= 0 {
		return nil, fmt.Errorf("--area %q: want X,Y,WIDTH,HEIGHT in pixels, as 0,0,400,300", s)
	}
	return (*[4]int)(n), nil
}

// sizeOf reads WIDTHxHEIGHT.
func sizeOf(flag, s string) (width, height int, err error) {
	n, err := numbers(s, "x", 2)
	if err != nil || n[0] <= 0 || n[1] <= 0 {
		return 0, 0, fmt.Errorf("%s %q: want WIDTHxHEIGHT in pixels, as 1280x800", flag, s)
	}
	return n[0], n[1], nil
}

// numbers reads exactly count whole numbers.
func numbers(s, between string, count int) ([]int, error) {
	words := strings.Split(s, between)
	if len(words) != count {
		return nil, errors.New("another number of numbers")
	}
	out := make([]int, count)
	for i, w := range words {
		n, err := strconv.ParseInt(strings.TrimSpace(w), 10, 32)
		if err != nil {
			return nil, err
		}
		out[i] = int(n)
	}
	return out, nil
}

// placeOf reads two arguments as a place.
func placeOf(x, y string) (*[2]int, error) {
	n, err := numbers(x+","+y, ",", 2)
	if err != nil {
		return nil, fmt.Errorf("%q %q is no place: want X and Y in pixels", x, y)
	}
	return &[2]int{n[0], n[1]}, nil
}

// atFlag reads a flag of the form X,Y; nil for nothing.
func atFlag(flag, s string) (*[2]int, error) {
	if s == "" {
		return nil, nil
	}
	n, err := numbers(s, ",", 2)
	if err != nil {
		return nil, fmt.Errorf("%s %q: want X,Y in pixels", flag, s)
	}
	return &[2]int{n[0], n[1]}, nil
}

// millis is a time as the protocol has it: a day at most.
func millis(d time.Duration) int { return int(min(d, 24*time.Hour) / time.Millisecond) }

// areaText is an area as X11 writes one.
func areaText(a [4]int) string {
	return fmt.Sprintf("%dx%d%+d%+d", a[2], a[3], a[0], a[1])
}
