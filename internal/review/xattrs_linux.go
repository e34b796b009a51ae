package review

import (
	"bytes"
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// Names of the overlay's own attributes, which nothing inside can set by them.
const (
	ownAttributes = "user.overlay."
	opaqueAttr    = ownAttributes + "opaque"
	whiteoutAttr  = ownAttributes + "whiteout"
)

// maxXattrs bounds the names that a file has, as the kernel does.
const maxXattrs = 64 << 10

// xattrs reads the attributes of an open file that are the user's to set.
func xattrs(fd int) (map[string][]byte, error) {
	n, err := unix.Flistxattr(fd, nil)
	if errors.Is(err, unix.ENOTSUP) || n == 0 {
		return nil, nil
	}
	list := make([]byte, maxXattrs)
	if err == nil {
		n, err = unix.Flistxattr(fd, list)
	}
	if err != nil {
		return nil, err
	}
	var out map[string][]byte
	for name := range bytes.SplitSeq(bytes.TrimSuffix(list[:n], []byte{0}), []byte{0}) {
		if !carried(string(name)) {
			continue
		}
		value, err := xattr(fd, string(name))
		if errors.Is(err, unix.ENODATA) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = make(map[string][]byte)
		}
		out[string(name)] = value
	}
	return out, nil
}

// carried says whether an attribute is part of what is reviewed.
func carried(name string) bool {
	return strings.HasPrefix(name, "user.") && !strings.HasPrefix(name, ownAttributes) || strings.HasPrefix(name, "system.posix_acl_")
}

func xattr(fd int, name string) ([]byte, error) {
	value := make([]byte, 64<<10)
	n, err := unix.Fgetxattr(fd, name, value)
	if err != nil {
		return nil, err
	}
	return value[:n:n], nil
}

func setXattrs(fd int, attrs map[string][]byte) error {
	for name, value := range attrs {
		if err := unix.Fsetxattr(fd, name, value, 0); err != nil {
			return err
		}
	}
	return nil
}

func sameXattrs(a, b map[string][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for name, value := range a {
		if other, ok := b[name]; !ok || !bytes.Equal(value, other) {
			return false
		}
	}
	return true
}
