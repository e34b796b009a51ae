package journal

import (
	"bytes"
	"maps"
	"strings"
)

// UserXattrs begins the names of attributes that the mode of a file protects.
const UserXattrs = "user."

// Knows reports whether a state has the value of an attribute, or knows of none.
func (s *State) Knows(xattr string) bool { return !s.Unread || !strings.HasPrefix(xattr, UserXattrs) }

// AgreeXattrs reports whether two states have the same attributes, as far as both know.
func AgreeXattrs(a, b *State) bool {
	if !a.Unread && !b.Unread {
		return SameXattrs(a, b)
	}
	return SameXattrs(a.readXattrs(), b.readXattrs())
}

// readXattrs is a state with the attributes that can be read of any file.
func (s *State) readXattrs() *State {
	all := maps.Clone(s.Xattrs)
	maps.DeleteFunc(all, func(key string, _ []byte) bool { return strings.HasPrefix(key, UserXattrs) })
	return &State{Xattrs: all}
}

// SameXattrs reports whether two states name the same attributes with the same values.
func SameXattrs(a, b *State) bool {
	if len(a.Xattrs) != len(b.Xattrs) {
		return false
	}
	for k, v := range a.Xattrs {
		if w, ok := b.Xattrs[k]; !ok || !bytes.Equal(v, w) {
			return false
		}
	}
	return true
}
