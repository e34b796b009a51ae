package display

import (
	"path/filepath"
	"strings"
)

// SocketKind names what a granted path is.
type SocketKind string

const (
	X11Socket     SocketKind = "x11"        // socket of the X server
	XAuthority    SocketKind = "xauthority" // cookie file, to be bound read-only
	WaylandSocket SocketKind = "wayland"    // socket of the compositor
)

// Socket is one path to bind for a grant of the host's display.
type Socket struct {
	Kind SocketKind
	Path string // absolute, on the host; it may not exist
	// Runtime is the path relative to XDG_RUNTIME_DIR when the program will look
	// for it there; "" when it looks at Path itself.
	Runtime string
}

// HostSockets returns exactly what an explicit grant of the host's display
// needs, from the environment outside: the X server's socket in
// /tmp/.X11-unix, its cookie file, and the compositor's socket. Nothing is
// guessed: with neither DISPLAY nor WAYLAND_DISPLAY the result is empty.
//
// An X server also listens at the abstract name @/tmp/.X11-unix/XN. That name
// belongs to a network namespace (and Landlock can scope it), so it is out of
// reach inside and is not needed: clients fall back to the path. A DISPLAY that
// names a host goes over the network and has no socket here. D-Bus is not
// granted with a display: through it programs are started outside.
func HostSockets(env []string) []Socket {
	var sockets []Socket
	if number, ok := displayNumber(getenv(env, "DISPLAY")); ok {
		sockets = append(sockets, Socket{Kind: X11Socket, Path: "/tmp/.X11-unix/X" + number})
		if cookie := cookieFile(env); cookie != "" {
			sockets = append(sockets, Socket{Kind: XAuthority, Path: cookie})
		}
	}
	if s, ok := wayland(env); ok {
		sockets = append(sockets, s)
	}
	return sockets
}

// displayNumber reads a local DISPLAY: [unix][/]:N[.S]. The syntax is that of
// X(7), "DISPLAY NAMES".
func displayNumber(display string) (string, bool) {
	host, rest, ok := strings.Cut(display, ":")
	if !ok || host != "" && host != "unix" && host != "unix/" {
		return "", false
	}
	number, screen, dotted := strings.Cut(rest, ".")
	return number, isNumber(number) && (!dotted || isNumber(screen))
}

// isNumber accepts what fits a display number and cannot be a path.
func isNumber(text string) bool {
	return text != "" && len(text) <= 5 && strings.Trim(text, "0123456789") == ""
}

// cookieFile is where Xlib looks for the cookie.
func cookieFile(env []string) string {
	if file := getenv(env, "XAUTHORITY"); filepath.IsAbs(file) {
		return filepath.Clean(file)
	}
	if home := getenv(env, "HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".Xauthority")
	}
	return ""
}

// wayland finds the compositor's socket as wl_display_connect does, without
// its default name.
func wayland(env []string) (Socket, bool) {
	name, dir := getenv(env, "WAYLAND_DISPLAY"), getenv(env, "XDG_RUNTIME_DIR")
	switch {
	case name == "":
		return Socket{}, false
	case filepath.IsAbs(name):
		return Socket{Kind: WaylandSocket, Path: filepath.Clean(name)}, true
	case !filepath.IsAbs(dir) || !filepath.IsLocal(name) || filepath.Clean(name) == ".":
		return Socket{}, false
	}
	name = filepath.Clean(name)
	return Socket{Kind: WaylandSocket, Path: filepath.Join(dir, name), Runtime: name}, true
}

// getenv finds a variable as getenv(3) does: the first one counts.
func getenv(env []string, name string) string {
	for _, entry := range env {
		if key, value, ok := strings.Cut(entry, "="); ok && key == name {
			return value
		}
	}
	return ""
}
