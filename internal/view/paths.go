package view

import (
	"path"
	"strings"

	"carrel/internal/pathname"
)

// inSystem tells whether p comes with one of the system directories.
func (in *inspector) inSystem(p string) bool {
	for _, dir := range in.view.System {
		if pathname.Within(p, dir) {
			return true
		}
	}
	return false
}

// tooBroad tells whether showing dir would show far more than one tool: home
// itself, the project, something above them, or a directory of the kernel.
func (in *inspector) tooBroad(dir string) bool {
	if in.o.Home != "" && pathname.Within(in.o.Home, dir) || pathname.Within(in.o.Project, dir) {
		return true
	}
	switch dir {
	case "/", "/home", "/root", "/var", "/srv", "/mnt", "/media", "/tmp":
		return true
	}
	for _, kernel := range []string{"/proc", "/sys", "/dev", "/run"} {
		if pathname.Within(dir, kernel) {
			return true
		}
	}
	return false
}

// xdg returns one of the base directories: the variable where it names a place
// strictly inside home, else the default below home. A base directory outside
// home would not exist inside.
func (in *inspector) xdg(variable, def string) string {
	v := in.env[variable]
	if path.IsAbs(v) && path.Clean(v) == v && v != in.o.Home && pathname.Within(v, in.o.Home) {
		return v
	}
	return path.Join(in.o.Home, def)
}

// usualBases are the XDG base directories where no variable moves them.
var usualBases = map[string]string{
	"$CONFIG": ".config", "$DATA": ".local/share", "$CACHE": ".cache", "$STATE": ".local/state",
}

// bases are the directories that the first word of a table's place stands for.
func (in *inspector) bases() map[string]string {
	if in.o.Home == "" {
		return nil
	}
	return map[string]string{
		"~":       in.o.Home,
		"$CONFIG": in.xdg("XDG_CONFIG_HOME", ".config"),
		"$DATA":   in.xdg("XDG_DATA_HOME", ".local/share"),
		"$CACHE":  in.xdg("XDG_CACHE_HOME", ".cache"),
		"$STATE":  in.xdg("XDG_STATE_HOME", ".local/state"),
	}
}

// basesMoved tells whether a variable moves one of the base directories.
func (in *inspector) basesMoved() bool {
	for word, def := range usualBases {
		if in.o.Home != "" && in.base[word] != path.Join(in.o.Home, def) {
			return true
		}
	}
	return false
}

// expand turns a place of the tables into an absolute path: "~/x" below home,
// "$CONFIG/x", "$DATA/x", "$CACHE/x", "$STATE/x" below the base directories, an
// absolute path as it is. Without a home only absolute places have an answer.
func (in *inspector) expand(p string) string {
	if path.IsAbs(p) {
		return p
	}
	first, _, _ := strings.Cut(p, "/")
	base := in.base[first]
	if base == "" {
		return ""
	}
	return strings.TrimSuffix(base, "/") + p[len(first):]
}

// missing tells cheaply that a place of the tables does not exist: its first
// component is not in the listing of its base directory. false says nothing.
func (in *inspector) missing(p string) bool {
	first, rest, _ := strings.Cut(p, "/")
	base := in.base[first]
	names := in.h.lists[base]
	if base == "" || names == nil {
		return false
	}
	name, _, _ := strings.Cut(rest, "/")
	return !names[name] && strings.IndexByte(name, '*') < 0
}

// tilde writes a path below home the way a person would.
func (in *inspector) tilde(p string) string {
	if in.o.Home != "" && p != in.o.Home && pathname.Within(p, in.o.Home) {
		return "~" + p[len(in.o.Home):]
	}
	return p
}
