package decide

import (
	"os"
	"path"
	"strings"

	"carrel/internal/policy"
)

// openerPath is the program that opens a link on the host's desktop. It is
// looked for in the system's own directory only: what stands in the user's
// PATH may have been put there by an agent.
const openerPath = "/usr/bin/xdg-open"

// Callbacks says whether a login inside may have its way back through the
// host's loopback: only where the user has links opened at all, and where the
// workspace has a loopback of its own that could answer.
func (p *Decision) Callbacks() bool {
	return p.Policy.OpenURLs == policy.LinksBrowser && p.Plan.NewNet && p.Plan.Loopback
}

// Opener gives the host's link opener and the environment to start it with,
// when the user's own configuration wants links opened.
func (p *Decision) Opener() (string, []string) {
	if p.Policy.OpenURLs != policy.LinksBrowser {
		return "", nil
	}
	if st, err := os.Stat(openerPath); err != nil || !st.Mode().IsRegular() {
		p.Note("open_urls is browser, but %s does not exist", openerPath)
		return "", nil
	}
	if at := p.OpenerLed(); at != "" {
		p.Note("open_urls is browser, but links are only shown: programs inside can write %q, which says what they are opened with", at)
		return "", nil
	}
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	for _, name := range []string{"HOME", "USER", "LANG", "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE", "XDG_DATA_DIRS", "XDG_CONFIG_HOME", "DESKTOP_SESSION"} {
		if v := p.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return openerPath, env
}

// Where xdg-open, and what it starts to choose a browser, find what to run, in the
// person's home: below the directory of configuration, and at other places.
var (
	openerConfig = []string{"mimeapps.list", "kdeglobals", "kde-mimeapps.list", "xfce4", "lxqt", "enlightenment", "gtk-2.0", "gtk-3.0", "gtk-4.0", "dconf"}
	openerHome   = []string{".local/share/applications", ".local/share/mime", ".local/share/xfce4", ".gtkrc-2.0", ".mailcap", ".kde/share/config", ".kde4/share/config"}
)

// openerReads are the places that say which program a link is opened with.
func (p *Decision) openerReads() []string {
	home := p.Getenv("HOME")
	if !path.IsAbs(home) {
		return []string{home} // what it reads is not known: led
	}
	config := p.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = path.Join(home, ".config")
	}
	var out []string
	for _, name := range openerConfig {
		out = append(out, path.Join(config, name))
	}
	for _, desktop := range strings.Split(p.Getenv("XDG_CURRENT_DESKTOP"), ":") {
		if desktop != "" {
			out = append(out, path.Join(config, strings.ToLower(desktop)+"-mimeapps.list"))
		}
	}
	for _, name := range openerHome {
		out = append(out, path.Join(home, name))
	}
	for _, dir := range strings.Split(p.Getenv("XDG_DATA_DIRS"), ":") {
		if dir != "" {
			out = append(out, path.Join(dir, "applications"))
		}
	}
	return append(out, "/usr/local/bin", "/usr/bin/xdg-open")
}

// OpenerLed is a place by which programs inside would choose what runs outside when a
// link is opened, "" for none.
func (p *Decision) OpenerLed() string {
	if p.NoWalls() {
		return ""
	}
	for _, at := range p.openerReads() {
		if at == "/usr/local/bin" && !p.led(at) || at != "/usr/local/bin" && !p.ledBelow(at) {
			continue
		}
		return at
	}
	return ""
}

// PulseCookie is the person's cookie of the sound server, "" where there is none that
// may be used: the server's library makes one anew in a file that is too short, and
// what leads there must not be chosen inside.
func (p *Decision) PulseCookie() string {
	home, config := p.Getenv("HOME"), p.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = path.Join(home, ".config")
	}
	for _, at := range []string{p.Getenv("PULSE_COOKIE"), path.Join(config, "pulse/cookie"), path.Join(home, ".pulse-cookie")} {
		if st, err := os.Stat(at); err == nil && path.IsAbs(at) && st.Mode().IsRegular() && st.Size() >= cookieSize {
			if p.NoWalls() || !p.led(at) {
				return at
			}
			return ""
		}
	}
	return ""
}

// cookieSize is the length of a whole cookie, in bytes.
const cookieSize = 256
