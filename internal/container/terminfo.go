package container

import (
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/hostfile"
)

// TerminfoDir is where the description of the person's terminal is in a container.
const TerminfoDir = "/run/carrel/terminfo"

// terminfoDirs are where the host has them, terminfo(5).
var terminfoDirs = []string{"/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo", "/usr/lib/terminfo"}

// maxTerminfo bounds one of them, as ncurses does.
const maxTerminfo = 32 << 10

// everywhere are the terminals that each image knows, or needs no description of.
var everywhere = []string{"", "dumb", "linux", "vt100", "xterm", "xterm-256color", "screen", "screen-256color"}

// KnowsTerminal says whether programs of an image need no description of a terminal, by its name, or
// can be given none.
func KnowsTerminal(name string) bool {
	return slices.Contains(everywhere, name) || strings.ContainsAny(name, "/.")
}

// Terminfo gives the host's description of a terminal, and its path in a container; nil where there is none.
func Terminfo(name string) (at string, data []byte) {
	for _, dir := range terminfoDirs {
		if data, err := hostfile.ReadHead(filepath.Join(dir, name[:1], name), maxTerminfo); err == nil {
			return filepath.Join(TerminfoDir, name[:1], name), data
		}
	}
	return "", nil
}
