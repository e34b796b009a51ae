package registry

import (
	"errors"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxManifest bounds a manifest, and MaxLine a line of what is said over a socket.
const (
	MaxManifest = 64 << 10
	MaxLine     = 1 << 20
)

// SendTime is how long the other end may take to take a line.
const SendTime = 5 * time.Second

// ErrLine is the error of a longer line.
var ErrLine = errors.New("a line of more than " + strconv.Itoa(MaxLine) + " bytes")

// errEnded stands for the errors of a connection with the other end gone.
var errEnded = errors.New("it has ended")

// State is the directory of everything that is kept, "" for none: $XDG_STATE_HOME/carrel,
// or its usual place in the home.
func State(getenv func(string) string) string {
	if x := getenv("XDG_STATE_HOME"); path.IsAbs(x) {
		return path.Join(x, "carrel")
	}
	h := getenv("HOME")
	if st, err := os.Stat(h); path.IsAbs(h) && err == nil && st.IsDir() {
		return path.Join(h, ".local/state/carrel")
	}
	return ""
}

// Dirs are the places of the registry, best first, for an environment:
// $XDG_RUNTIME_DIR/carrel, and run/ in the state directory, where state is
// $XDG_STATE_HOME/carrel or "" for none; last what $XDG_RUNTIME_DIR usually is, where
// that exists: some launchers leave the variable out. A run takes the first that it can
// use, a client looks into all.
func Dirs(runtime, state string) []string {
	var dirs []string
	if path.IsAbs(runtime) {
		dirs = append(dirs, path.Join(runtime, "carrel"))
	}
	if path.IsAbs(state) {
		dirs = append(dirs, path.Join(state, "run"))
	}
	usual := "/run/user/" + strconv.Itoa(os.Getuid()) + "/carrel"
	if _, err := os.Stat(path.Dir(usual)); err == nil && !slices.Contains(dirs, usual) {
		dirs = append(dirs, usual)
	}
	return dirs
}

// WellFormed says whether an id is one of ours: it becomes part of a file name.
func WellFormed(id string) bool {
	return id != "" && len(id) <= 32 && strings.Trim(id, "0123456789abcdef") == ""
}

// Process names a process for as long as the machine runs: its number in a PID namespace,
// its start, and which run of the machine that was.
type Process struct {
	PID          int
	Start        uint64
	Boot         string
	PIDNamespace string
}

// Listener is the process of a registered workspace, with the place of its manifest.
type Listener struct {
	Dir, ID string
	Process
}
