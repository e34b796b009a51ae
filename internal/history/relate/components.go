package relate

import (
	"slices"
	"strconv"
	"strings"

	"carrel/internal/history/graph"
	"carrel/internal/history/journal"
)

// Components of metadata; those of attributes begin with XattrPart.
const (
	ModePart  = "mode"
	userPart  = "uid"
	groupPart = "gid"
	XattrPart = "x:"
)

// NoXattr is the text of an attribute that is known not to be there; that of one
// that is there begins with another byte.
const NoXattr = "-"

// MetaOf gives the metadata of a state as components.
func MetaOf(st *journal.State) map[string]string {
	all := map[string]string{graph.Mtime: strconv.FormatInt(st.Mtime, 10)}
	if st.Kind != journal.Symlink {
		all[ModePart] = strconv.FormatUint(uint64(st.Mode), 8)
	}
	all[userPart], all[groupPart] = strconv.FormatUint(uint64(st.UID), 10), strconv.FormatUint(uint64(st.GID), 10)
	for k, v := range st.Xattrs {
		all[XattrPart+k] = "=" + string(v)
	}
	return all
}

// SetMetaOf sets the metadata of a state from components.
func SetMetaOf(st *journal.State, all map[string]string) {
	number := func(name string, base int, set func(uint64)) {
		if n, err := strconv.ParseInt(all[name], base, 64); err == nil {
			set(uint64(n))
		}
	}
	number(graph.Mtime, 10, func(n uint64) { st.Mtime = int64(n) })
	number(ModePart, 8, func(n uint64) { st.Mode = uint32(n) })
	number(userPart, 10, func(n uint64) { st.UID = uint32(n) })
	number(groupPart, 10, func(n uint64) { st.GID = uint32(n) })
	st.Xattrs = nil
	for k, v := range all {
		if name, is := strings.CutPrefix(k, XattrPart); is && v != NoXattr {
			if st.Xattrs == nil {
				st.Xattrs = make(map[string][]byte)
			}
			st.Xattrs[name] = []byte(v[1:])
		}
	}
}

func metaValue(st *journal.State, all map[string]string, name string) graph.Value {
	v, ok := all[name]
	switch {
	case ok:
		return graph.Value{S: v}
	case Hidden(st, name):
		return graph.Unknown
	}
	return graph.Value{S: NoXattr}
}

// Hidden reports whether a component cannot be read, as the mode forbids it.
func Hidden(st *journal.State, component string) bool {
	name, is := strings.CutPrefix(component, XattrPart)
	return is && !st.Knows(name)
}

// componentsOf are the components of either, in order.
func componentsOf(a, b map[string]string) []string {
	var out []string
	for k := range a {
		out = append(out, k)
	}
	for k := range b {
		if _, both := a[k]; !both {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}
