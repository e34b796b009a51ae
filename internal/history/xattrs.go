package history

import (
	"maps"
	"strings"
)

const userXattrs = "user."

// Knows reports whether a state has the value of an attribute, or knows of none.
func (s *State) Knows(xattr string) bool { return !s.Unread || !strings.HasPrefix(xattr, userXattrs) }

// agreeXattrs reports whether two states have the same attributes, as far as both know.
func agreeXattrs(a, b *State) bool {
	if !a.Unread && !b.Unread {
		return sameXattrs(a, b)
	}
	return sameXattrs(a.readXattrs(), b.readXattrs())
}

// readXattrs is a state with the attributes that can be read of any file.
func (s *State) readXattrs() *State {
	all := maps.Clone(s.Xattrs)
	maps.DeleteFunc(all, func(key string, _ []byte) bool { return strings.HasPrefix(key, userXattrs) })
	return &State{Xattrs: all}
}
