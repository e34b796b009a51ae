package workspace

import (
	"errors"
	"os"
	"path"
	"strconv"
	"strings"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// terminalName gives the device of the terminal among the standard descriptors,
// so that ttyname(3) finds it inside as /dev/console; "" without one.
func terminalName() string {
	for fd := range 3 {
		if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err != nil {
			continue
		}
		if name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)); err == nil && strings.HasPrefix(name, "/dev/") {
			return name
		}
	}
	return ""
}

// keepTerminals remembers the modes of the terminals among the standard
// descriptors; the function that it returns gives them back. A command holds
// their descriptors and owns their nodes: it could open them to other users.
func keepTerminals() (restore func()) {
	var before [3]unix.Stat_t
	for fd := range 3 {
		_ = unix.Fstat(fd, &before[fd])
	}
	return func() {
		for fd, was := range before {
			var now unix.Stat_t
			if was.Mode&unix.S_IFMT == unix.S_IFCHR && unix.Fstat(fd, &now) == nil && now.Ino == was.Ino && now.Mode != was.Mode {
				_ = unix.Fchmod(fd, was.Mode&0o7777)
			}
		}
	}
}

func dirOf(p string) string { return path.Dir(p) }

// explainSetup says what would help where the walls could not be built.
func explainSetup(err error) error {
	var s *sandbox.SetupError
	if !errors.As(err, &s) {
		return err
	}
	hint := "run `carrel doctor` to see what this machine can hold"
	if _, inWalls := os.Lstat(sandbox.SelfPath); inWalls == nil && os.Getenv(EnvInside) == "1" {
		hint = "this is already inside a carrel workspace; a second one inside needs `--nested full` on the outer one"
	}
	return &hintError{err: s, hint: hint}
}

// hintError is an error with one line of advice.
type hintError struct {
	err  error
	hint string
}

func (e *hintError) Error() string { return e.err.Error() + "\nhint: " + e.hint }
func (e *hintError) Unwrap() error { return e.err }
