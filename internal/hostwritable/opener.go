package hostwritable

import (
	"os"
	"path"
	"strings"
)

// Where xdg-open, and what it starts to choose a browser, find what to run, in the
// person's home: below the directory of configuration, and at other places.
var (
	openerConfig = []string{"mimeapps.list", "kdeglobals", "kde-mimeapps.list", "xfce4", "lxqt", "enlightenment", "gtk-2.0", "gtk-3.0", "gtk-4.0", "dconf"}
	openerHome   = []string{".local/share/applications", ".local/share/mime", ".local/share/xfce4", ".gtkrc-2.0", ".mailcap", ".kde/share/config", ".kde4/share/config"}
)

// openerReads are the places that say which program a link is opened with.
func openerReads(getenv func(string) string) []string {
	home := getenv("HOME")
	if !path.IsAbs(home) {
		return []string{home} // what it reads is not known: it counts as writable
	}
	config := getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = path.Join(home, ".config")
	}
	var out []string
	for _, name := range openerConfig {
		out = append(out, path.Join(config, name))
	}
	for _, desktop := range strings.Split(getenv("XDG_CURRENT_DESKTOP"), ":") {
		if desktop != "" {
			out = append(out, path.Join(config, strings.ToLower(desktop)+"-mimeapps.list"))
		}
	}
	for _, name := range openerHome {
		out = append(out, path.Join(home, name))
	}
	for _, dir := range strings.Split(getenv("XDG_DATA_DIRS"), ":") {
		if dir != "" {
			out = append(out, path.Join(dir, "applications"))
		}
	}
	return append(out, "/usr/local/bin", "/usr/bin/xdg-open")
}

// Opener is a place by which programs inside would choose what runs outside when a link is
// opened, "" for none. getenv is the outside environment.
func (g Grants) Opener(getenv func(string) string) string {
	for _, at := range openerReads(getenv) {
		if at == "/usr/local/bin" && !g.At(at) || at != "/usr/local/bin" && !g.Below(at) {
			continue
		}
		return at
	}
	return ""
}

// PulseCookie is the person's cookie of the sound server, "" where there is none that
// may be used: the server's library makes one anew in a file that is too short, and
// what leads there must not be chosen inside.
// Without walls whatever is there is used.
func (g Grants) PulseCookie(getenv func(string) string, walls bool) string {
	home, config := getenv("HOME"), getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = path.Join(home, ".config")
	}
	for _, at := range []string{getenv("PULSE_COOKIE"), path.Join(config, "pulse/cookie"), path.Join(home, ".pulse-cookie")} {
		if st, err := os.Stat(at); err == nil && path.IsAbs(at) && st.Mode().IsRegular() && st.Size() >= cookieSize {
			if !walls || !g.At(at) {
				return at
			}
			return ""
		}
	}
	return ""
}

// cookieSize is the length of a whole cookie, in bytes.
const cookieSize = 256
