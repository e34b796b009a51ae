package caller

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Descriptor recognises the names of the caller's own descriptors.
func Descriptor(path string) (int32, bool) {
	switch path {
	case "/dev/stdin":
		return 0, true
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	}
	for _, prefix := range []string{"/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/"} {
		if rest, ok := strings.CutPrefix(path, prefix); ok {
			n, err := strconv.ParseUint(rest, 10, 31)
			return int32(n), err == nil
		}
	}
	return 0, false
}

// ThroughProc turns a path through the caller's own magic links into what they
// mean: procfs in the mirror does not know the caller.
func ThroughProc(dirfd int32, path string) (int32, string) {
	rest, ok := strings.CutPrefix(path, "/proc/self/")
	if !ok {
		rest, ok = strings.CutPrefix(path, "/proc/thread-self/")
	}
	if !ok {
		if rest, ok = strings.CutPrefix(path, "/dev/fd/"); !ok {
			return dirfd, path
		}
		rest = "fd/" + rest
	}
	if below, ok := strings.CutPrefix(rest, "root/"); ok {
		return dirfd, "/" + below
	}
	if below, ok := strings.CutPrefix(rest, "cwd/"); ok && strings.Trim(below, "/") != "" {
		return unix.AT_FDCWD, strings.TrimLeft(below, "/")
	}
	number, below, ok := strings.Cut(strings.TrimPrefix(rest, "fd/"), "/")
	if n, err := strconv.ParseUint(number, 10, 31); ok && err == nil && strings.HasPrefix(rest, "fd/") && strings.Trim(below, "/") != "" {
		return int32(n), strings.TrimLeft(below, "/")
	}
	return dirfd, path
}
