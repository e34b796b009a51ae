package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"carrel/internal/pathname"
	"carrel/internal/policy"
)

// Bounds on what is looked at: beyond them a place counts as one that is led.
const (
	maxLedLinks = 40
	maxLedFiles = 20_000
)

// led says whether programs inside can change what is at a place of the host, or any
// link or directory on the way there. Nothing is remembered from one question to the
// next: what was a directory may have become a link.
func (p *Prepared) led(at string) bool {
	_, led := p.follow(at)
	return led
}

// follow is led, and says what is reached, "" where nothing is there.
func (p *Prepared) follow(at string) (real string, led bool) {
	if !path.IsAbs(at) {
		return "", true
	}
	here, rest, links := "/", strings.Split(at, "/"), 0 // not cleaned: what `..` leads out of may be a link
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == "" || name == "." || name == ".." {
			here = path.Join(here, name)
			continue
		}
		next := path.Join(here, name)
		if p.writtenInside(next) {
			return "", true
		}
		st, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR): // who could make it?
			return "", p.writtenInside(path.Join(next, path.Join(rest...)))
		case err != nil:
			return "", true
		case st.Mode()&fs.ModeSymlink == 0:
			here = next
			continue
		}
		to, err := os.Readlink(next)
		if links++; err != nil || links > maxLedLinks {
			return "", true
		}
		if path.IsAbs(to) {
			here = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return here, false
}

// ledBelow is led of a place and of all that is below it, through links as well.
func (p *Prepared) ledBelow(at string) bool {
	left, seen, todo := maxLedFiles, make(map[string]bool), []string{at}
	for len(todo) > 0 {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		real, led := p.follow(next)
		if led {
			return true
		}
		if real == "" || seen[real] {
			continue
		}
		seen[real] = true
		entries, err := os.ReadDir(real)
		if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrPermission) {
			continue // a file; what we cannot read, the program cannot
		}
		if left -= len(entries); err != nil || left < 0 {
			return true
		}
		for _, e := range entries {
			if at := path.Join(real, e.Name()); e.IsDir() || e.Type()&fs.ModeSymlink != 0 {
				todo = append(todo, at)
			} else if p.writtenInside(at) {
				return true
			}
		}
	}
	return false
}

// writtenInside says whether programs inside can write a place of the host that is
// reached without a link: by a rule, or where a directory of the host is put elsewhere.
func (p *Prepared) writtenInside(at string) bool {
	d := p.Policy.Lookup(at)
	private := d.Rule != nil && d.Rule.Source.Layer == policy.LayerDefault && d.Rule.Path == p.Policy.Scope.Tmp // not the host's
	if d.Access == policy.Write && !private {
		return true
	}
	for _, b := range p.binds {
		if !b.ReadOnly && b.Source != "" && pathname.Within(at, b.Source) {
			return true
		}
	}
	return false
}

// Where xdg-open, and what it starts to choose a browser, find what to run, in the
// person's home: below the directory of configuration, and at other places.
var (
	openerConfig = []string{"mimeapps.list", "kdeglobals", "kde-mimeapps.list", "xfce4", "lxqt", "enlightenment", "gtk-2.0", "gtk-3.0", "gtk-4.0", "dconf"}
	openerHome   = []string{".local/share/applications", ".local/share/mime", ".local/share/xfce4", ".gtkrc-2.0", ".mailcap", ".kde/share/config", ".kde4/share/config"}
)

// openerReads are the places that say which program a link is opened with.
func (p *Prepared) openerReads() []string {
	home := p.getenv("HOME")
	if !path.IsAbs(home) {
		return []string{home} // what it reads is not known: led
	}
	config := p.getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = path.Join(home, ".config")
	}
	var out []string
	for _, name := range openerConfig {
		out = append(out, path.Join(config, name))
	}
	for _, desktop := range strings.Split(p.getenv("XDG_CURRENT_DESKTOP"), ":") {
		if desktop != "" {
			out = append(out, path.Join(config, strings.ToLower(desktop)+"-mimeapps.list"))
		}
	}
	for _, name := range openerHome {
		out = append(out, path.Join(home, name))
	}
	for _, dir := range strings.Split(p.getenv("XDG_DATA_DIRS"), ":") {
		if dir != "" {
			out = append(out, path.Join(dir, "applications"))
		}
	}
	return append(out, "/usr/local/bin", "/usr/bin/xdg-open")
}

// openerLed is a place by which programs inside would choose what runs outside when a
// link is opened, "" for none.
func (p *Prepared) openerLed() string {
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

// pulseCookie is the person's cookie of the sound server, "" where there is none that
// may be used: the server's library makes one anew in a file that is too short, and
// what leads there must not be chosen inside.
func (p *Prepared) pulseCookie() string {
	home, config := p.getenv("HOME"), p.getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = path.Join(home, ".config")
	}
	for _, at := range []string{p.getenv("PULSE_COOKIE"), path.Join(config, "pulse/cookie"), path.Join(home, ".pulse-cookie")} {
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
