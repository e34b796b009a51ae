package hostview

import (
	"path"
	"strings"

	"carrel/internal/pathname"
)

// bases has the directories that the first word of a table's place stands for: "~" for home,
// "$CONFIG", "$DATA", "$CACHE" and "$STATE" for the XDG base directories. Without a home it
// is nil.
type bases map[string]string

// usualBases are the XDG base directories where no variable moves them.
var usualBases = bases{
	"$CONFIG": ".config", "$DATA": ".local/share", "$CACHE": ".cache", "$STATE": ".local/state",
}

// newBases takes a variable where it names a place strictly inside home, else the default
// below home. A base directory outside home would not exist inside.
func newBases(home string, env map[string]string) bases {
	if home == "" {
		return nil
	}
	b := bases{"~": home}
	for word, def := range usualBases {
		b[word] = path.Join(home, def)
		v := env["XDG_"+word[1:]+"_HOME"]
		if path.IsAbs(v) && path.Clean(v) == v && v != home && pathname.Within(v, home) {
			b[word] = v
		}
	}
	return b
}

// usual is the default of a base directory, "" for another word and without a home.
func (b bases) usual(word string) string {
	if usualBases[word] == "" || b == nil {
		return ""
	}
	return path.Join(b["~"], usualBases[word])
}

// moved reports whether a variable moves one of the base directories.
func (b bases) moved() bool {
	for word := range usualBases {
		if b[word] != b.usual(word) {
			return true
		}
	}
	return false
}

// expand turns a place of the tables into an absolute path: "~/x" below home,
// "$CONFIG/x", "$DATA/x", "$CACHE/x", "$STATE/x" below the base directories, an
// absolute path as it is. Without a home only absolute places have an answer.
func (b bases) expand(p string) string {
	if path.IsAbs(p) {
		return p
	}
	first, _, _ := strings.Cut(p, "/")
	base := b[first]
	if base == "" {
		return ""
	}
	return strings.TrimSuffix(base, "/") + p[len(first):]
}

// missing tells cheaply that a place of the tables does not exist: its first
// component is not in the listing of its base directory. false says nothing.
func (b bases) missing(h *host, p string) bool {
	first, rest, _ := strings.Cut(p, "/")
	base := b[first]
	names := h.lists[base]
	if base == "" || names == nil {
		return false
	}
	name, _, _ := strings.Cut(rest, "/")
	return !names[name] && strings.IndexByte(name, '*') < 0
}
