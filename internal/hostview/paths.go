package hostview

import (
	"carrel/internal/pathname"
)

// tooBroad tells whether showing dir would show far more than one tool: home
// itself, the project, something above them, or a directory of the kernel.
func (o *Options) tooBroad(dir string) bool {
	if o.Home != "" && pathname.Within(o.Home, dir) || pathname.Within(o.Project, dir) {
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

// tilde writes a path below home the way a person would.
func (o *Options) tilde(p string) string {
	if o.Home != "" && p != o.Home && pathname.Within(p, o.Home) {
		return "~" + p[len(o.Home):]
	}
	return p
}
