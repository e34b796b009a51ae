//go:build linux

package main

import "strings"

// pool are few names, so that operations meet each other's results.
var pool = []string{"a", "b", "c", "d", "e", "f", "d1", "d2", "d3", "d4", "l1", "l2", "l3", "x y", "\xff\xfe", "ü"}

// long are the names at and over the limit of one component.
var long = []string{strings.Repeat("n", 255), strings.Repeat("n", 256)}

// path gives a name to operate on: mostly relative and short, sometimes odd.
func (h *hand) path() string {
	switch h.random.IntN(40) {
	case 0:
		return ""
	case 1:
		return one(h, ".", "..", "./", "../", "./.", "d1/..", "d1/.")
	case 2:
		return one(h, long...)
	case 3:
		return h.padded(one(h, 4094, 4095, 4096, 5000))
	case 4:
		return h.simple() + "/" + one(h, long...)
	case 5, 6, 7:
		return h.root + "/" + h.simple()
	case 8:
		return "/proc/thread-self/cwd/" + h.simple()
	case 9, 10:
		return h.simple() + one(h, "/", "//", "/.", "/./")
	case 11:
		return one(h, "l1", "l2", "l3", "d1", "d2") + "/../" + h.simple()
	case 12:
		return "../" + h.simple()
	}
	return h.simple()
}

// simple is one to three names.
func (h *hand) simple() string {
	s := one(h, pool...)
	for h.oneIn(3) && strings.Count(s, "/") < 2 {
		s = one(h, "d1", "d2", "d3", "d4", "l1", "l2", "d1/.", "d2/") + "/" + s
	}
	return s
}

// padded is a name of exactly n bytes with the terminating zero not counted.
func (h *hand) padded(n int) string {
	s := h.simple()
	for len(s)+2 <= n {
		s = "./" + s
	}
	if len(s) < n {
		s = "." + "//" + s[2:]
	}
	return s
}

// target is what a symlink says: names in the same directory, elsewhere, above,
// nowhere, itself.
func (h *hand) target() string {
	switch h.random.IntN(10) {
	case 0:
		return h.root + "/" + h.simple()
	case 1:
		return "nowhere/at/all"
	case 2:
		return one(h, "l1", "l2", "l3")
	case 3:
		return "../" + h.simple()
	case 4:
		return one(h, "", ".", "..", "/proc/thread-self/cwd", strings.Repeat("t", 4095))
	case 5:
		return one(h, "d1/", "d2/.")
	}
	return h.simple()
}
