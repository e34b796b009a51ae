package undo

import (
	"strconv"
	"unicode/utf8"
)

const (
	besideSuffix = ".undo-conflict"
	maxName      = 255 // bytes of a name, as Linux has it
	besideTries  = 1000
)

// beside gives names for what is in the way of an undo: NAME.undo-conflict, then
// with a number behind it. A long name is cut, at a character where it is UTF-8.
func beside(name string, try int) string {
	name = cutName(name, maxName-len(besideSuffix)-len("-999")) + besideSuffix
	if try > 1 {
		name += "-" + strconv.Itoa(try)
	}
	return name
}

// cutName gives the beginning of a name, at most so many bytes.
func cutName(name string, most int) string {
	if len(name) <= most {
		return name
	}
	for at := most; at > most-utf8.UTFMax; at-- { // the character that the cut goes through, if it is one
		if r, n := utf8.DecodeRuneInString(name[at:]); r != utf8.RuneError && at+n > most {
			return name[:at]
		}
	}
	return name[:most]
}
