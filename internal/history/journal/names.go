package journal

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// cleanPath says whether a path is absolute and has no component that is empty,
// "." or "..".
func cleanPath(p Bytes) bool {
	if len(p) == 0 || p[0] != '/' || strings.IndexByte(string(p), 0) >= 0 {
		return false
	}
	if len(p) == 1 {
		return true
	}
	for part := range strings.SplitSeq(string(p[1:]), "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

// ValidSegment says whether a name can be one: they come back from journals.
func ValidSegment(name string) bool {
	if len(name) < 18 || len(name) > 64 || name[16] != '-' {
		return false
	}
	return strings.Trim(name, "0123456789abcdefghijklmnopqrstuvwxyz-") == ""
}

// Compare orders objects by their segments, and in one by their numbers.
func (o Object) Compare(p Object) int {
	return cmp.Or(cmp.Compare(o.Segment, p.Segment), cmp.Compare(o.Number, p.Number))
}

// File is where an object lies in the history.
func (o Object) File() string { return "objects/" + o.Segment + "/" + ObjectName(o.Number) }

// ObjectName is what the file of an object is called.
func ObjectName(n uint64) string { return strconv.FormatUint(n, 16) }

// SegmentName is that of a new segment: in the order of their beginnings.
func SegmentName(stamp uint64, run string) string { return fmt.Sprintf("%016x-%s", stamp, run) }

// BegunAt is the stamp in a segment's name, 0 for none.
func BegunAt(segment string) uint64 {
	if !ValidSegment(segment) {
		return 0
	}
	n, err := strconv.ParseUint(segment[:16], 16, 64)
	if err != nil || n > MaxNumber {
		return 0
	}
	return n
}

// ObjectNumber is the reverse of [ObjectName].
func ObjectNumber(name string) (uint64, bool) {
	n, err := strconv.ParseUint(name, 16, 64)
	return n, err == nil && ObjectName(n) == name
}
